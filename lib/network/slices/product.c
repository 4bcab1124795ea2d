/* Products in slices: every product of two planes is exact in doubles, in any order, and one matrix of sums gathers
 * those of one place, carry from the place below included. */
#include "network/slices/weight.h"

#include "base/wide.h"
#include "network/convolution_norm.h"

#include <cblas.h>
#undef I
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Doubles of the columns gathered at a time; their number at least, twice W's rows if these are more: W is packed for each panel. */
#define PANEL ((size_t)1 << 17)
#define PANEL_COLUMNS ((size_t)128)
/* Half the distance from 1 to the next double. */
#define U 0x1p-53
/* Products of a part of a sum that rounds. */
#define SUMMED ((size_t)192)

typedef struct {
  const clarke_dense *d;
  const clarke_sliced *x;
  const size_t *map; /* NULL: the argument's columns are there */
  clarke_cut_weight w;
  size_t tail;       /* x's lowest planes that are multiplied as doubles, with roundings; 0: none */
  double off, off_norm; /* by no more than which an entry of that product is off, and all of them, in y's lowest places */
  size_t places;     /* of a block, gathered at a time */
  size_t taps;       /* of windows, where x is multiplied as it is, by W's entries for each tap; 0: columns are gathered */
  clarke_dense done; /* d, or, with taps, what is done: rows of W for one tap after another, one column a channel */
  double *turned;    /* W's numbers so */
  double *made;      /* sum, or what taps make, before it is moved */
  double *panel;     /* x's planes above the tail, the highest first, then the tail, of inner rows each */
  double *sum;       /* outer rows, */
  double *rest;      /* as many of W times the tail, on y's lowest place, */
  double *part;      /* and as many of a part of that */
} sliced_product;

static void
product_clear(sliced_product *p)
{
  clarke_cut_weight_clear(&p->w);
  if (p->taps > 0)
    free(p->made);
  free(p->turned);
  free(p->panel);
  free(p->sum);
}

/* --- columns ----------------------------------------------------------------------------------- */

/* Places r and on of a row of columns, of at most so many, that the map takes from rows one after another, or from none: *from
 * is the first of these. */
static size_t
next_rows(const sliced_product *p, size_t row, size_t r, size_t places, size_t *from)
{
  const clarke_operand map = {.map = (size_t *)p->map};

  *from = clarke_operand_entry(&map, row + r);
  return clarke_operand_run(&map, row + r, row + places);
}

CLARKE_WIDE static void
gather_entries(const float *digit, size_t n, double *to)
{
  for (size_t e = 0; e < n; e++)
    to[e] = (double)digit[e];
}

CLARKE_WIDE static void
add_entries(double *to, const double *from, size_t n)
{
  for (size_t e = 0; e < n; e++)
    to[e] += from[e];
}

CLARKE_WIDE static void
join_entries(const float *digit, double unit, size_t n, double *to)
{
  for (size_t e = 0; e < n; e++)
    to[e] += unit * (double)digit[e];
}

/* The columns of `places` places of block b, from `first` on, plane by plane. */
static void
gather_columns(const clarke_slicing *f, const sliced_product *p, size_t b, size_t first, size_t places)
{
  const clarke_dense *d = p->d;
  const size_t width = places * f->n;

  for (size_t k = p->tail; k < p->x->planes; k++) {
    const float *digit = p->x->digit + k * p->x->rows * f->n;
    double *to = p->panel + (p->x->planes - 1 - k) * d->inner * width;

    for (size_t i = 0; i < d->inner; i++) {
      const size_t row = (b * d->inner + i) * d->repeat + first;

      for (size_t r = 0, run, from; r < places; r += run) {
        run = next_rows(p, row, r, places, &from);
        if (from == CLARKE_NONE)
          memset(to + i * width + r * f->n, 0, run * f->n * sizeof *to);
        else
          gather_entries(digit + from * f->n, run * f->n, to + i * width + r * f->n);
      }
    }
  }
}

/* The tails of so many rows, in units of their lowest place. */
static void
join_rows(const clarke_slicing *f, const sliced_product *p, size_t from, size_t rows, double *to)
{
  const size_t plane = p->x->rows * f->n, n = rows * f->n;

  if (from == CLARKE_NONE) {
    memset(to, 0, n * sizeof *to);
    return;
  }
  gather_entries(p->x->digit + from * f->n, n, to);
  for (size_t k = 1; k < p->tail; k++)
    join_entries(p->x->digit + k * plane + from * f->n, ldexp(1, (int)f->plan->width * (int)k), n, to);
}

/* Products and sums that round an entry of W times the tail. */
static size_t
roundings(size_t inner)
{
  return inner > SUMMED ? SUMMED + (inner + SUMMED - 1) / SUMMED : inner;
}

/* Columns' tails, and W times them: longer sums in parts, which are near when they are added. */
static void
multiply_tail(const clarke_slicing *f, const sliced_product *p, long low, size_t b, size_t first, size_t places)
{
  const clarke_dense *d = p->d;
  const size_t width = places * f->n;
  const double *w = f->g->values[d->weight].real + (d->grouped ? b * d->outer * d->inner : 0);
  double *to = p->panel + (p->x->planes - p->tail) * d->inner * width;

  for (size_t i = 0; i < d->inner; i++)
    for (size_t r = 0, run, from; r < places; r += run) {
      run = next_rows(p, (b * d->inner + i) * d->repeat + first, r, places, &from);
      join_rows(f, p, from, run, to + i * width + r * f->n);
    }
  for (size_t k = 0; k < d->inner; k += SUMMED) {
    const size_t len = d->inner - k < SUMMED ? d->inner - k : SUMMED;

    cblas_dgemm(CblasRowMajor, d->transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, (int)d->outer, (int)width, (int)len,
                ldexp(1, (int)(p->x->low - low)), w + (d->transposed ? k * d->outer : k),
                (int)(d->transposed ? d->outer : d->inner), to + k * width, (int)width, 0, k == 0 ? p->rest : p->part,
                (int)width);
    for (size_t e = 0; e < d->outer * width && k > 0; e++)
      p->rest[e] += p->part[e];
  }
}

/* What belongs to y's place k, 0 or 1, of W times the tail is added to the sums; the lowest is rounded to integers. */
CLARKE_WIDE static void
add_tail(double *sum, double *rest, double unit, long k, size_t entries)
{
  const double part = 1 / unit;

  for (size_t e = 0; e < entries && k == 0; e++) {
    const double above = clarke_nearest_integer(rest[e] * part);

    sum[e] += clarke_nearest_integer(rest[e] - above * unit);
    rest[e] = above;
  }
  for (size_t e = 0; e < entries && k == 1; e++)
    sum[e] += rest[e];
}

/* made += the products of planes a of W and s - a of x. */
static void
add_place(const sliced_product *p, size_t b, size_t s, size_t width)
{
  const clarke_dense *d = &p->done;
  const clarke_cut_weight *w = &p->w;
  const size_t block = d->grouped ? b : 0, sparse = w->planes - w->dense, planes = p->x->planes;
  size_t from = s + 1 > planes ? s + 1 - planes : 0, to = s < p->tail ? 0 : s - p->tail + 1;

  to = to < w->planes ? to : w->planes;
  for (size_t l = w->begin[block]; l < w->begin[block + 1]; l++) {
    const clarke_listed *e = &w->list[l];

    if (e->plane >= from && e->plane < to)
      cblas_daxpy((int)width, e->digit, p->panel + ((planes - 1 - s + e->plane) * d->inner + e->column) * width, 1,
                  p->made + e->row * width, 1);
  }
  from = from < sparse ? sparse : from;
  if (from < to)
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)d->outer, (int)width, (int)((to - from) * d->inner), 1,
                w->digit + block * d->outer * w->dense * d->inner + (from - sparse) * d->inner,
                (int)(w->dense * d->inner), p->panel + (planes - 1 - s + from) * d->inner * width, (int)width, 1, p->made,
                (int)width);
}

CLARKE_WIDE static void
carry_sums(double *sum, double unit, size_t n)
{
  const double part = 1 / unit;

  for (size_t e = 0; e < n; e++)
    sum[e] = clarke_nearest_integer(sum[e] * part);
}

CLARKE_WIDE static void
take_row(float *to, double *sum, double unit, size_t n)
{
  const double part = 1 / unit;

  for (size_t e = 0; e < n; e++) {
    const double carry = clarke_nearest_integer(sum[e] * part);

    to[e] = (float)(sum[e] - carry * unit);
    sum[e] = carry;
  }
}

/* The sums become digits, of plane k of y or, with k < 0, of none; what is over stays as the sums. */
static void
take_digits(const clarke_slicing *f, const sliced_product *p, clarke_sliced *y, long k, size_t out, size_t width)
{
  const double unit = ldexp(1, (int)f->plan->width);

  if (k < 0)
    carry_sums(p->sum, unit, p->d->outer * width);
  for (size_t o = 0; o < p->d->outer && k >= 0; o++)
    take_row(y->digit + (size_t)k * y->rows * f->n + out + o * p->d->repeat * f->n, p->sum + o * width, unit, width);
}

/* Places `first` and on of block b of y. */
static void
multiply_columns(clarke_slicing *f, const sliced_product *p, clarke_sliced *y, size_t b, size_t first, size_t places)
{
  const size_t width = places * f->n, out = (b * p->d->outer * p->d->repeat + first) * f->n;
  const long shift = (p->w.low + p->x->low - y->low) / f->plan->width;
  const size_t pairs = p->w.planes + p->x->planes - 1;

  gather_columns(f, p, b, first, places);
  if (p->tail > 0)
    multiply_tail(f, p, y->low, b, first, places);
  memset(p->sum, 0, p->d->outer * width * sizeof *p->sum);
  for (long k = shift < 0 && p->tail < p->x->planes ? -1 : 0; k < (long)y->planes; k++) {
    const long s = k - shift;

    if (s >= 0 && (size_t)s < pairs && p->tail < p->x->planes)
      add_place(p, b, (size_t)s, width);
    if (p->tail > 0)
      add_tail(p->sum, p->rest, ldexp(1, (int)f->plan->width), k, p->d->outer * width);
    take_digits(f, p, y, k, out, width);
  }
  for (size_t e = 0; e < p->d->outer * width; e++) /* there are planes enough */
    f->lost = f->lost || p->sum[e] != 0;
}

/* The sum of the squares of a block's digits, which is exact: 2^8 of at most 2^42; *most: at least what it was and each |digit|. */
CLARKE_WIDE static double
measure_block(const float *digit, size_t len, float *most)
{
  double square[8] = {0}, sum = 0;
  float part[8] = {0};
  size_t i = 0;

  for (; i + 8 <= len; i += 8)
    for (size_t l = 0; l < 8; l++) {
      const float size = fabsf(digit[i + l]);

      part[l] = size > part[l] ? size : part[l];
      square[l] += (double)size * (double)size;
    }
  for (; i < len; i++) {
    part[0] = fabsf(digit[i]) > part[0] ? fabsf(digit[i]) : part[0];
    square[0] += (double)digit[i] * (double)digit[i];
  }
  for (size_t l = 0; l < 8; l++) {
    *most = part[l] > *most ? part[l] : *most;
    sum += square[l];
  }
  return sum;
}

/* to[o][r] += made[t, o][the pixel that tap t of window r reads]. */
static void
move_taps(const clarke_slicing *f, const sliced_product *p, double *to)
{
  const clarke_operand map = {.map = (size_t *)p->map};
  const size_t repeat = p->d->repeat, width = p->done.repeat * f->n;

  for (size_t t = 0; t < p->taps; t++)
    for (size_t r = 0, run; r < repeat; r += run) {
      const size_t from = clarke_operand_entry(&map, t * repeat + r);

      run = clarke_operand_run(&map, t * repeat + r, (t + 1) * repeat);
      for (size_t o = 0; o < p->d->outer && from != CLARKE_NONE; o++)
        add_entries(to + (o * repeat + r) * f->n, p->made + (t * p->d->outer + o) * width + from * f->n, run * f->n);
    }
}

/* All of y: each tap's products of x's planes, as they are, moved to the windows. */
static void
multiply_taps(clarke_slicing *f, const sliced_product *p, clarke_sliced *y)
{
  const clarke_dense *d = &p->done;
  const size_t width = d->repeat * f->n, out = p->d->repeat * f->n, plane = d->inner * width;
  const long shift = (p->w.low + p->x->low - y->low) / f->plan->width;
  const double unit = ldexp(1, (int)f->plan->width);

  for (size_t k = p->tail; k < p->x->planes; k++)
    gather_entries(p->x->digit + k * plane, plane, p->panel + (p->x->planes - 1 - k) * plane);
  memset(p->sum, 0, 2 * p->d->outer * out * sizeof *p->sum); /* and the rest */
  if (p->tail > 0) {
    double *to = p->panel + (p->x->planes - p->tail) * plane;

    join_rows(f, p, 0, p->x->rows, to);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)d->outer, (int)width, (int)d->inner,
                ldexp(1, (int)(p->x->low - y->low)), p->turned, (int)d->inner, to, (int)width, 0, p->made, (int)width);
    move_taps(f, p, p->rest);
  }
  for (long k = shift < 0 && p->tail < p->x->planes ? -1 : 0; k < (long)y->planes; k++) {
    const long s = k - shift;

    if (s >= 0 && (size_t)s < p->w.planes + p->x->planes - 1 && p->tail < p->x->planes) {
      memset(p->made, 0, d->outer * width * sizeof *p->made);
      add_place(p, 0, (size_t)s, width);
      move_taps(f, p, p->sum);
    }
    if (p->tail > 0)
      add_tail(p->sum, p->rest, unit, k, p->d->outer * out);
    take_digits(f, p, y, k, 0, out);
  }
  for (size_t e = 0; e < p->d->outer * out; e++) /* there are planes enough */
    f->lost = f->lost || p->sum[e] != 0;
}

/* Upper bounds of a plane's largest digit, and of the norm of all. */
static void
measure_plane(const clarke_slicing *f, const clarke_sliced *x, size_t plane, double *largest, double *norm)
{
  const float *digit = x->digit + plane * x->rows * f->n;
  double square = 0;
  float most = 0;

  for (size_t e = 0; e < x->rows * f->n; e += CLARKE_SLICE_BLOCK) {
    const size_t left = x->rows * f->n - e;

    square += measure_block(digit + e, left < CLARKE_SLICE_BLOCK ? left : CLARKE_SLICE_BLOCK, &most);
  }
  *largest = (double)most;
  *norm = sqrt(square) * (1 + 0x1p-40 + (double)(x->rows * f->n) * U);
}

/* The most planes of x whose product with W, in doubles, is off by no more than is allowed: 0 or at least 2. Units are those
 * of the lowest place of y. gathered: by what norms grow before they are multiplied. */
static void
choose_tail(const clarke_slicing *f, const clarke_step *s, sliced_product *p, const clarke_sliced *y, double gathered)
{
  const long width = f->plan->width;
  const size_t i = (size_t)(s - f->g->steps);
  const double most = f->plan->growths->growth[i][0].most, all = f->plan->growths->size[i] * gathered;
  const double root = sqrt((double)y->rows * (double)(f->n / f->lanes)), unit = ldexp(1, (int)(p->x->low - y->low));
  const double allowed = f->plan->allowed[s->out] * ldexp(1, (int)-y->low) * root;
  double size = 0, norm = 0; /* at least those of an entry of the tail, and of all, of x's lowest places */

  p->tail = 0;
  for (size_t k = 0; k < p->x->planes && y->planes > 2; k++) {
    const double gamma = (double)(roundings(s->dense.inner) + k + 8) * U * (1 + 0x1p-20), place = ldexp(1, (int)(width * (long)k));
    double largest, of_plane, product, off, off_norm;

    measure_plane(f, p->x, k, &largest, &of_plane);
    size = clarke_slice_up(size + largest * place);
    norm = clarke_slice_up(norm + of_plane * place);
    product = clarke_slice_up(clarke_slice_up(most * size) * unit);
    off = clarke_slice_up(gamma * product);
    off_norm = clarke_slice_up(fmin(off * root, gamma * clarke_slice_up(clarke_slice_up(all * norm) * unit)));
    if (k > 0 && product <= ldexp(1, 50 + (int)width) && off_norm <= allowed) {
      p->tail = k + 1;
      p->off = off;
      p->off_norm = off_norm;
    }
  }
}

/* W times the errors of x's segments, each by the norm of its columns, in y's gauge: infinity where that is not known. */
static double
sum_of_segments(const clarke_slicing *f, const clarke_step *s, const clarke_sliced *x)
{
  const double *by = f->plan->growths->by_segment[s - f->g->steps];
  double sum = 0;

  if (by == NULL || x->segment == NULL || clarke_gauge_of(f, s->in[0].value) != NULL)
    return INFINITY;
  for (size_t k = 0; k < f->plan->growths->segments[s->in[0].value].n; k++)
    sum += clarke_slice_up(by[k] * x->segment[k]);
  return clarke_slice_up(sum);
}

/* An entry's error: W times that of its column; what products below the guard make, the guard, and the tail. gathered: what
 * a GATHER that was left to this product makes of norms. */
static void
bound_product(const clarke_slicing *f, const clarke_step *s, const sliced_product *p, clarke_sliced *y, double gathered)
{
  const clarke_sliced *x = p->x;
  const size_t i = (size_t)(s - f->g->steps);
  const clarke_growth *g = &f->plan->growths->growth[i][0];
  const long guard = (y->low - p->w.low - x->low) / f->plan->width - 1; /* places below it are left out */
  const bool drops = p->tail < x->planes && guard > (long)p->tail;
  const double dropped = drops ? (double)p->w.planes * (double)p->d->inner / 4 * (1 + 0x1p-6) : 0;
  const double exact = clarke_slice_up((dropped + 2) * ldexp(1, (int)y->low)); /* of digits */
  const double own = clarke_slice_up(exact + clarke_slice_up(p->off * ldexp(1, (int)y->low)));
  const double entries = (double)y->rows * (double)(f->n / f->lanes), root = sqrt((double)p->d->inner);

  const clarke_gauge *gauge = clarke_gauge_of(f, s->out);
  const size_t producer = f->g->values[s->in[0].value].producer;
  /* what joined is of: behind a GATHER that is done, x is what that made */
  const bool whole = p->map != NULL || producer == CLARKE_NONE || f->g->steps[producer].kind != CLARKE_GATHER;
  const double plain = clarke_slice_up(g->norm * gathered);
  const double growth = whole && gauge == NULL ? fmin(plain, f->plan->growths->joined[i]) : plain;
  const double by_segments = f->lanes == 1 ? sum_of_segments(f, s, x) : INFINITY;

  for (size_t j = 0; j < f->lanes; j++) {
    const double column = fmin(clarke_slice_up(f->plan->growths->column[i] * x->norm[j]), clarke_slice_up(root * x->most[j]));
    const double most = fmin(clarke_slice_up(f->plan->growths->row[i] * column), clarke_slice_up(g->most * x->most[j]));

    y->most[j] = clarke_slice_up(most + own);
    y->norm[j] = gauge == NULL ? fmin(clarke_slice_up(growth * x->norm[j]), by_segments) : clarke_slice_up(growth * x->norm[j]);
    y->norm[j] = clarke_slice_up(y->norm[j] + clarke_slice_up(exact * sqrt(entries)));
    y->norm[j] = clarke_slice_up(y->norm[j] + clarke_slice_up(p->off_norm * ldexp(1, (int)y->low)));
    y->most[j] = fmin(y->most[j], y->norm[j]);
    y->norm[j] = fmin(y->norm[j], clarke_slice_up(y->most[j] * sqrt(entries)));
  }
  if (whole && gauge != NULL)
    y->gauged = clarke_slice_up(fmin(clarke_slice_up(f->plan->growths->joined[i] * x->norm[0]), by_segments) +
                                clarke_slice_up(clarke_slice_up(exact * sqrt((double)f->n)) * gauge->size) +
                                clarke_slice_up(p->off_norm * ldexp(1, (int)y->low) * gauge->most));
}

/* Doubles at most that taps may take, in planes of x and in what is made of them. */
#define MOST_OF_TAPS ((size_t)1 << 22)

/* Are entry after entry the taps of windows of `channels` images, one like the other? */
static bool
are_taps(const sliced_product *p, size_t channels, size_t taps, size_t pixels)
{
  const size_t each = taps * p->d->repeat;

  for (size_t e = 0; e < channels * each; e++) {
    const size_t first = p->map[e % each];

    if (first != CLARKE_NONE && first >= pixels)
      return false;
    if (p->map[e] != (first == CLARKE_NONE ? first : first + e / each * pixels))
      return false;
  }
  return true;
}

/* Where a convolution has few outputs, its products with x as it is are fewer than its columns' entries. */
static clarke_status
choose_taps(clarke_slicing *f, const clarke_step *s, sliced_product *p)
{
  const clarke_dense *d = p->d;
  const double *w = f->g->values[d->weight].real;
  clarke_convolution c;
  bool found = false;
  size_t channels, taps, pixels;
  clarke_status status = CLARKE_OK;

  p->done = *d;
  if (p->map == NULL || d->blocks != 1 || d->transposed || 8 * d->outer > d->inner)
    return CLARKE_OK;
  status = clarke_convolution_recognize(&c, &found, f->g, s, f->err);
  channels = found ? c.channels : 0;
  taps = found ? c.taps : 0;
  clarke_convolution_clear(&c);
  if (!found || taps < 2 || 2 * d->outer > channels || channels > SUMMED || channels + taps > roundings(d->inner))
    return status;
  pixels = p->x->rows / channels;
  if (pixels * channels != p->x->rows || pixels > 2 * d->repeat || !are_taps(p, channels, taps, pixels) ||
      ((p->x->planes + 1) * channels + taps * d->outer) * pixels * f->n > MOST_OF_TAPS)
    return status;
  p->turned = malloc((d->outer * d->inner + 1) * sizeof *p->turned);
  if (p->turned == NULL)
    return clarke_no_memory(f->err);
  for (size_t e = 0; e < d->outer * d->inner; e++) /* outer, channels, taps */
    p->turned[(e % taps * d->outer + e / d->inner) * channels + e % d->inner / taps] = w[e];
  p->taps = taps;
  p->done.outer = taps * d->outer;
  p->done.inner = channels;
  p->done.repeat = pixels;
  return CLARKE_OK;
}

/* Room for columns and sums. */
static clarke_status
make_room(clarke_slicing *f, sliced_product *p)
{
  const clarke_dense *d = p->d;
  const size_t column = p->done.inner * (p->x->planes - p->tail + (p->tail > 0)) * f->n;
  const size_t least = (2 * d->outer > PANEL_COLUMNS ? 2 * d->outer : PANEL_COLUMNS) / f->n + 1;

  p->places = PANEL / (column + 1) < least ? least : PANEL / (column + 1);
  p->places = p->places < d->repeat && p->taps == 0 ? p->places : d->repeat;
  p->panel = malloc((column * (p->taps > 0 ? p->done.repeat : p->places) + 1) * sizeof *p->panel);
  p->sum = malloc((3 * d->outer * p->places * f->n + 1) * sizeof *p->sum);
  p->rest = p->sum + d->outer * p->places * f->n;
  p->part = p->rest + d->outer * p->places * f->n;
  p->made = p->taps > 0 ? malloc((p->done.outer * p->done.repeat * f->n + 1) * sizeof *p->made) : p->sum;
  return p->panel != NULL && p->sum != NULL && p->made != NULL ? CLARKE_OK : clarke_no_memory(f->err);
}

clarke_status
clarke_slices_dense(clarke_slicing *f, const clarke_step *s)
{
  const clarke_dense *d = &s->dense;
  const clarke_step *gather = f->deferred[s->in[0].value];
  const double gathered = gather != NULL ? f->plan->growths->growth[gather - f->g->steps][0].norm : 1;
  const long width = f->plan->width;
  clarke_sliced *y = &f->value[s->out];
  sliced_product p = {.d = d, .map = gather != NULL ? gather->in[0].map : NULL,
                      .x = &f->value[gather != NULL ? gather->in[0].value : s->in[0].value]};
  clarke_status status = clarke_cut_weight_measure(f, d, &p.w);
  long low = f->plan->low[s->out], least = p.w.low + p.x->low;

  low = low > least ? low : least;
  if (status == CLARKE_OK) {
    const long top = (least - low) / width + (long)(p.w.planes + p.x->planes) + 1;

    status = clarke_sliced_alloc(f, y, d->blocks * d->outer * d->repeat, top > 0 ? (size_t)top : 1, low);
  }
  if (status == CLARKE_OK) {
    choose_tail(f, s, &p, y, gathered);
    status = choose_taps(f, s, &p);
  }
  if (status == CLARKE_OK && p.tail < p.x->planes)
    status = clarke_cut_weight_make(f, &p.done, p.taps > 0 ? p.turned : f->g->values[d->weight].real, d->inner, &p.w);
  if (status == CLARKE_OK)
    status = make_room(f, &p);
  if (status == CLARKE_OK && p.taps > 0)
    multiply_taps(f, &p, y);
  for (size_t b = 0; b < d->blocks && status == CLARKE_OK && p.taps == 0; b++)
    for (size_t first = 0; first < d->repeat; first += p.places)
      multiply_columns(f, &p, y, b, first, d->repeat - first < p.places ? d->repeat - first : p.places);
  if (status == CLARKE_OK) {
    bound_product(f, s, &p, y, gathered);
    clarke_sliced_trim(f, y);
  }
  product_clear(&p);
  return status;
}
