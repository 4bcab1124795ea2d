/* Products in slices: every product of two planes is exact in doubles, in any order, and one matrix of sums gathers
 * those of one place, carry from the place below included. */
#include "network/slices/slices.h"

#include <cblas.h>
#undef I
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Doubles of the columns gathered at a time; their number at least. */
#define PANEL ((size_t)1 << 19)
#define PANEL_COLUMNS ((size_t)128)
/* Half the distance from 1 to the next double. */
#define U 0x1p-53
/* A plane of W with at most one entry of so many is a list. */
#define SPARSE 48
/* Places of the bits of doubles, from the least. */
#define EXPONENTS 2200
#define LEAST_EXPONENT 1075

/* An entry of a plane of W that is a list. */
typedef struct {
  size_t plane, row, column;
  double digit;
} listed;

/* W in digits: its highest planes side by side, block by block outer x (dense * inner); the entries of the lower. */
typedef struct {
  size_t planes, dense;
  long low;
  double *digit;
  listed *list;
  size_t n_listed, room, *begin; /* begin[b]: where a block's are; one more at the end */
} cut_weight;

typedef struct {
  const clarke_dense *d;
  const clarke_sliced *x;
  const size_t *map; /* NULL: the argument's columns are there */
  cut_weight w;
  size_t tail;       /* x's lowest planes that are multiplied as doubles, with roundings; 0: none */
  double off;        /* by no more than which that product is off, in units of y's lowest place */
  size_t places;     /* of a block, gathered at a time */
  double *panel;     /* x's planes above the tail, the highest first, then the tail, of inner rows each */
  double *sum;       /* outer rows, */
  double *rest;      /* and as many of W times the tail, on y's lowest place */
} sliced_product;

static void
product_clear(sliced_product *p)
{
  free(p->w.digit);
  free(p->w.list);
  free(p->w.begin);
  free(p->panel);
  free(p->sum);
}

/* By the place of their lowest bit, how many entries; *high: an exponent above all. */
static void
count_bits(size_t count[EXPONENTS], long *high, const double *v, size_t n)
{
  uint64_t most = 0;

  memset(count, 0, EXPONENTS * sizeof *count);
  for (size_t e = 0; e < n; e++) {
    const uint64_t hidden = (uint64_t)1 << 52;
    uint64_t bits, exponent;

    memcpy(&bits, &v[e], sizeof bits);
    exponent = bits >> 52 & 0x7ff;
    bits = (bits & (hidden - 1)) | (exponent > 0 ? hidden : 0);
    if (bits == 0)
      continue;
    exponent = exponent > 0 ? exponent : 1;
    most = exponent > most ? exponent : most;
    count[exponent + (uint64_t)__builtin_ctzll(bits)]++;
  }
  *high = most > 0 ? (long)most - LEAST_EXPONENT + 53 : 0;
}

/* The places of W: how many planes there are, and from which on they are dense. */
static clarke_status
measure_weight(clarke_slicing *f, const clarke_dense *d, cut_weight *w)
{
  const clarke_value *v = &f->g->values[d->weight];
  const long width = f->plan->width;
  size_t count[EXPONENTS], at = 0, below = 0;
  long high;

  count_bits(count, &high, v->real, v->count);
  while (at < EXPONENTS && count[at] == 0)
    at++;
  w->low = at == EXPONENTS ? 0 : clarke_slice_grid((long)at - LEAST_EXPONENT, width);
  w->planes = high <= w->low ? 1 : (size_t)((high - w->low) / width) + 1;
  if (w->planes > CLARKE_PLANES || labs(w->low) > 1000) {
    f->lost = true;
    return CLARKE_EINPUT;
  }
  w->dense = w->planes;
  for (size_t a = 0; a + 1 < w->planes && w->dense == w->planes - a; a++) {
    for (; (long)at - LEAST_EXPONENT < w->low + width * (long)(a + 1); at++)
      below += count[at];
    w->dense -= below * SPARSE <= v->count;
  }
  return CLARKE_OK;
}

/* Sums of a place stay below 2^52: the dense planes' products, and those of the lists. */
static bool
sums_fit(const clarke_slicing *f, const clarke_dense *d, const cut_weight *w)
{
  const size_t most = d->inner * (w->planes - w->dense), of_lists = w->n_listed < most ? w->n_listed : most;

  return ldexp((double)(w->dense * d->inner + of_lists), 2 * (int)f->plan->width - 2) <= 0x1p52;
}

/* What is left of entry (block, row, column) under the dense planes, digit by digit. */
static clarke_status
list_entry(clarke_slicing *f, cut_weight *w, listed at, double left)
{
  for (size_t a = w->planes - w->dense; a-- > 0 && left != 0;) {
    const int low = (int)(w->low + f->plan->width * (long)a);

    if (w->n_listed == w->room) {
      listed *grown = realloc(w->list, (2 * w->room + 64) * sizeof *grown);

      if (grown == NULL)
        return clarke_no_memory(f->err);
      w->list = grown;
      w->room = 2 * w->room + 64;
    }
    at.plane = a;
    at.digit = clarke_nearest_integer(ldexp(left, -low));
    left -= ldexp(at.digit, low);
    if (at.digit != 0)
      w->list[w->n_listed++] = at;
  }
  return CLARKE_OK;
}

/* Row r of all blocks', from the highest plane down. left: room for a row. */
static clarke_status
cut_row(clarke_slicing *f, const clarke_dense *d, cut_weight *w, const double *v, double *left, size_t r)
{
  const size_t first = d->transposed ? r / d->outer * d->outer * d->inner + r % d->outer : r * d->inner;
  const size_t stride = d->transposed ? d->outer : 1;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < d->inner; i++)
    left[i] = v[first + i * stride];
  for (size_t a = w->dense; a-- > 0;) {
    const int low = (int)(w->low + f->plan->width * (long)(w->planes - w->dense + a));
    const double unit = ldexp(1, low), part = ldexp(1, -low);
    double *to = w->digit + (r * w->dense + a) * d->inner;

    for (size_t i = 0; i < d->inner; i++) {
      to[i] = clarke_nearest_integer(left[i] * part);
      left[i] -= to[i] * unit;
    }
  }
  for (size_t i = 0; i < d->inner && w->dense < w->planes && status == CLARKE_OK; i++)
    if (left[i] != 0)
      status = list_entry(f, w, (listed){.row = r % d->outer, .column = i}, left[i]);
  return status;
}

static clarke_status
cut(clarke_slicing *f, const clarke_dense *d, cut_weight *w)
{
  const clarke_value *v = &f->g->values[d->weight];
  const size_t blocks = d->grouped ? d->blocks : 1;
  double *left = malloc((d->inner + 1) * sizeof *left);
  clarke_status status;

  w->digit = malloc((w->dense * v->count + 1) * sizeof *w->digit);
  w->begin = calloc(blocks + 1, sizeof *w->begin);
  status = left != NULL && w->digit != NULL && w->begin != NULL ? CLARKE_OK : clarke_no_memory(f->err);
  for (size_t r = 0; r < blocks * d->outer && status == CLARKE_OK; r++) {
    status = cut_row(f, d, w, v->real, left, r);
    w->begin[r / d->outer + 1] = w->n_listed;
  }
  free(left);
  if (status == CLARKE_OK && !sums_fit(f, d, w)) {
    f->lost = true;
    status = CLARKE_EINPUT;
  }
  return status;
}

/* --- columns ----------------------------------------------------------------------------------- */

static void
gather_row(const clarke_slicing *f, const float *digit, size_t from, double *to)
{
  for (size_t j = 0; j < f->n; j++)
    to[j] = from == CLARKE_NONE ? 0 : (double)digit[from * f->n + j];
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

      for (size_t r = 0; r < places && p->map != NULL; r++)
        gather_row(f, digit, p->map[row + r], to + i * width + r * f->n);
      for (size_t e = 0; e < width && p->map == NULL; e++)
        to[i * width + e] = (double)digit[row * f->n + e];
    }
  }
}

/* The tail of a row, in units of its lowest place. */
static void
join_row(const clarke_slicing *f, const sliced_product *p, size_t from, double *to)
{
  const size_t plane = p->x->rows * f->n;

  for (size_t j = 0; j < f->n; j++)
    to[j] = from == CLARKE_NONE ? 0 : (double)p->x->digit[from * f->n + j];
  for (size_t k = 1; k < p->tail && from != CLARKE_NONE; k++) {
    const double unit = ldexp(1, (int)f->plan->width * (int)k);
    const float *digit = p->x->digit + k * plane + from * f->n;

    for (size_t j = 0; j < f->n; j++)
      to[j] += unit * (double)digit[j];
  }
}

/* Columns' tails, and W times them. */
static void
multiply_tail(const clarke_slicing *f, const sliced_product *p, long low, size_t b, size_t first, size_t places)
{
  const clarke_dense *d = p->d;
  const size_t width = places * f->n;
  const double *w = f->g->values[d->weight].real + (d->grouped ? b * d->outer * d->inner : 0);
  double *to = p->panel + (p->x->planes - p->tail) * d->inner * width;

  for (size_t i = 0; i < d->inner; i++)
    for (size_t r = 0; r < places; r++) {
      const size_t row = (b * d->inner + i) * d->repeat + first + r;

      join_row(f, p, p->map != NULL ? p->map[row] : row, to + i * width + r * f->n);
    }
  cblas_dgemm(CblasRowMajor, d->transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, (int)d->outer, (int)width,
              (int)d->inner, ldexp(1, (int)(p->x->low - low)), w, (int)(d->transposed ? d->outer : d->inner), to, (int)width,
              0, p->rest, (int)width);
}

/* What belongs to y's place k, 0 or 1, of W times the tail is added to the sums; the lowest is rounded to integers. */
static void
add_tail(const clarke_slicing *f, const sliced_product *p, long k, size_t entries)
{
  const double unit = ldexp(1, (int)f->plan->width), part = 1 / unit;

  for (size_t e = 0; e < entries && k == 0; e++) {
    const double above = clarke_nearest_integer(p->rest[e] * part);

    p->sum[e] += clarke_nearest_integer(p->rest[e] - above * unit);
    p->rest[e] = above;
  }
  for (size_t e = 0; e < entries && k == 1; e++)
    p->sum[e] += p->rest[e];
}

/* sum += the products of planes a of W and s - a of x. */
static void
add_place(const sliced_product *p, size_t b, size_t s, size_t width)
{
  const clarke_dense *d = p->d;
  const cut_weight *w = &p->w;
  const size_t block = d->grouped ? b : 0, sparse = w->planes - w->dense, planes = p->x->planes;
  size_t from = s + 1 > planes ? s + 1 - planes : 0, to = s < p->tail ? 0 : s - p->tail + 1;

  to = to < w->planes ? to : w->planes;
  for (size_t l = w->begin[block]; l < w->begin[block + 1]; l++) {
    const listed *e = &w->list[l];

    if (e->plane >= from && e->plane < to)
      cblas_daxpy((int)width, e->digit, p->panel + ((planes - 1 - s + e->plane) * d->inner + e->column) * width, 1,
                  p->sum + e->row * width, 1);
  }
  from = from < sparse ? sparse : from;
  if (from < to)
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)d->outer, (int)width, (int)((to - from) * d->inner), 1,
                w->digit + block * d->outer * w->dense * d->inner + (from - sparse) * d->inner,
                (int)(w->dense * d->inner), p->panel + (planes - 1 - s + from) * d->inner * width, (int)width, 1, p->sum,
                (int)width);
}

/* The sums become digits, of plane k of y or, with k < 0, of none; what is over stays as the sums. */
static void
take_digits(const clarke_slicing *f, const sliced_product *p, clarke_sliced *y, long k, size_t out, size_t width)
{
  const double unit = ldexp(1, (int)f->plan->width), part = 1 / unit;

  for (size_t o = 0; o < p->d->outer; o++) {
    double *sum = p->sum + o * width;
    float *to = y->digit + (size_t)(k < 0 ? 0 : k) * y->rows * f->n + out + o * p->d->repeat * f->n;

    for (size_t c = 0; c < width && k < 0; c++)
      sum[c] = clarke_nearest_integer(sum[c] * part);
    for (size_t c = 0; c < width && k >= 0; c++) {
      const double carry = clarke_nearest_integer(sum[c] * part);

      to[c] = (float)(sum[c] - carry * unit);
      sum[c] = carry;
    }
  }
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
      add_tail(f, p, k, p->d->outer * width);
    take_digits(f, p, y, k, out, width);
  }
  for (size_t e = 0; e < p->d->outer * width; e++) /* there are planes enough */
    f->lost = f->lost || p->sum[e] != 0;
}

static double
largest_digit(const clarke_slicing *f, const clarke_sliced *x, size_t plane)
{
  const float *digit = x->digit + plane * x->rows * f->n;
  float most = 0;

  for (size_t e = 0; e < x->rows * f->n; e++)
    most = fabsf(digit[e]) > most ? fabsf(digit[e]) : most;
  return (double)most;
}

/* The most planes of x whose product with W, in doubles, is off by no more than is allowed: 0 or at least 2. Units are those
 * of the lowest place of y. */
static void
choose_tail(const clarke_slicing *f, const clarke_step *s, sliced_product *p, const clarke_sliced *y)
{
  const long width = f->plan->width;
  const double most = f->plan->growths->growth[s - f->g->steps][0].most;
  const double allowed = f->plan->allowed[s->out] * ldexp(1, (int)-y->low);
  double size = 0; /* at least that of an entry of the tail, of x's lowest places */

  p->tail = 0;
  for (size_t k = 0; k < p->x->planes && y->planes > 2; k++) {
    const double gamma = (double)(s->dense.inner + k + 8) * U * (1 + 0x1p-20);
    double product, off;

    size = clarke_slice_up(size + largest_digit(f, p->x, k) * ldexp(1, (int)(width * (long)k)));
    product = clarke_slice_up(clarke_slice_up(most * size) * ldexp(1, (int)(p->x->low - y->low)));
    off = clarke_slice_up(gamma * product);
    if (k > 0 && product <= ldexp(1, 50 + (int)width) && off <= allowed) {
      p->tail = k + 1;
      p->off = off;
    }
  }
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
  const double own = clarke_slice_up((clarke_slice_up(dropped + p->off) + 2) * ldexp(1, (int)y->low));
  const double entries = (double)y->rows * (double)(f->n / f->lanes), root = sqrt((double)p->d->inner);

  for (size_t j = 0; j < f->lanes; j++) {
    const double column = fmin(clarke_slice_up(f->plan->growths->column[i] * x->norm[j]), clarke_slice_up(root * x->most[j]));
    const double most = fmin(clarke_slice_up(f->plan->growths->row[i] * column), clarke_slice_up(g->most * x->most[j]));

    y->most[j] = clarke_slice_up(most + own);
    y->norm[j] = clarke_slice_up(clarke_slice_up(g->norm * gathered * x->norm[j]) + clarke_slice_up(own * sqrt(entries)));
    y->most[j] = fmin(y->most[j], y->norm[j]);
    y->norm[j] = fmin(y->norm[j], clarke_slice_up(y->most[j] * sqrt(entries)));
  }
}

/* Room for columns and sums. */
static clarke_status
make_room(clarke_slicing *f, sliced_product *p)
{
  const clarke_dense *d = p->d;
  size_t column = d->inner * (p->x->planes - p->tail + (p->tail > 0)) * f->n, least = PANEL_COLUMNS / f->n + 1;

  p->places = PANEL / (column + 1) < least ? least : PANEL / (column + 1);
  p->places = p->places < d->repeat ? p->places : d->repeat;
  p->panel = malloc((column * p->places + 1) * sizeof *p->panel);
  p->sum = malloc((2 * d->outer * p->places * f->n + 1) * sizeof *p->sum);
  p->rest = p->sum + d->outer * p->places * f->n;
  return p->panel != NULL && p->sum != NULL ? CLARKE_OK : clarke_no_memory(f->err);
}

clarke_status
clarke_slices_dense(clarke_slicing *f, const clarke_step *s)
{
  const clarke_dense *d = &s->dense;
  const clarke_step *gather = f->deferred[s->in[0].value];
  const long width = f->plan->width;
  clarke_sliced *y = &f->value[s->out];
  sliced_product p = {.d = d, .map = gather != NULL ? gather->in[0].map : NULL,
                      .x = &f->value[gather != NULL ? gather->in[0].value : s->in[0].value]};
  clarke_status status = measure_weight(f, d, &p.w);
  long low = f->plan->low[s->out], least = p.w.low + p.x->low;

  low = low > least ? low : least;
  if (status == CLARKE_OK) {
    const long top = (least - low) / width + (long)(p.w.planes + p.x->planes) + 1;

    status = clarke_sliced_alloc(f, y, d->blocks * d->outer * d->repeat, top > 0 ? (size_t)top : 1, low);
  }
  if (status == CLARKE_OK) {
    choose_tail(f, s, &p, y);
    status = p.tail < p.x->planes ? cut(f, d, &p.w) : CLARKE_OK;
  }
  if (status == CLARKE_OK)
    status = make_room(f, &p);
  for (size_t b = 0; b < d->blocks && status == CLARKE_OK; b++)
    for (size_t first = 0; first < d->repeat; first += p.places)
      multiply_columns(f, &p, y, b, first, d->repeat - first < p.places ? d->repeat - first : p.places);
  if (status == CLARKE_OK) {
    bound_product(f, s, &p, y, gather != NULL ? f->plan->growths->growth[gather - f->g->steps][0].norm : 1);
    clarke_sliced_trim(f, y);
  }
  product_clear(&p);
  return status;
}
