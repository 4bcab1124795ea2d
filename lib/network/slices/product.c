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
/* A plane of W with at most one entry of so many is a list. */
#define SPARSE 48

/* An entry of a plane of W that is a list. */
typedef struct {
  size_t plane, block, row, column;
  double digit;
} listed;

/* W in digits: its highest planes side by side, block by block outer x (dense * inner); the entries of the lower. */
typedef struct {
  size_t planes, dense;
  long low;
  double *digit;
  listed *list;
  size_t n_listed;
} cut_weight;

typedef struct {
  const clarke_dense *d;
  const clarke_sliced *x;
  const size_t *map; /* NULL: the argument's columns are there */
  cut_weight w;
  size_t places;     /* of a block, gathered at a time */
  double *panel;     /* x->planes, the highest first, of inner rows */
  double *sum;       /* outer rows */
} sliced_product;

static void
product_clear(sliced_product *p)
{
  free(p->w.digit);
  free(p->w.list);
  free(p->panel);
  free(p->sum);
}

/* The exponents of the lowest bit, and of one above the highest, of finite doubles. */
static void
bit_range(long *low, long *high, const double *v, size_t n)
{
  *low = LONG_MAX;
  *high = LONG_MIN;
  for (size_t e = 0; e < n; e++) {
    uint64_t bits;
    long exponent;

    if (v[e] == 0)
      continue;
    memcpy(&bits, &v[e], sizeof bits);
    exponent = (long)(bits >> 52 & 0x7ff);
    bits = exponent > 0 ? (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52 : bits & (((uint64_t)1 << 52) - 1);
    exponent = (exponent > 0 ? exponent : 1) - 1075;
    if (exponent + 53 > *high)
      *high = exponent + 53;
    if (exponent + __builtin_ctzll(bits) < *low)
      *low = exponent + __builtin_ctzll(bits);
  }
}

/* digit: the plane of unit 2^low of what is left of w, which is taken off it. How many are not 0. */
static size_t
cut_plane(double *left, float *digit, size_t n, long low)
{
  const double unit = ldexp(1, (int)low), part = ldexp(1, (int)-low);
  size_t count = 0;

  for (size_t e = 0; e < n; e++) {
    const double d = clarke_nearest_integer(left[e] * part);

    digit[e] = (float)d;
    left[e] -= d * unit;
    count += d != 0;
  }
  return count;
}

/* A plane to its place in the rows of W. */
static void
place_plane(const clarke_dense *d, cut_weight *w, size_t a, const float *digit, size_t blocks)
{
  for (size_t r = 0; r < blocks * d->outer; r++) {
    double *to = w->digit + (r * w->dense + a) * d->inner;
    const size_t first = d->transposed ? r / d->outer * d->outer * d->inner + r % d->outer : r * d->inner;
    const size_t stride = d->transposed ? d->outer : 1;

    for (size_t i = 0; i < d->inner; i++)
      to[i] = (double)digit[first + i * stride];
  }
}

static clarke_status
list_plane(clarke_slicing *f, const clarke_dense *d, cut_weight *w, size_t plane, const float *digit, size_t n,
           size_t count)
{
  listed *grown = realloc(w->list, (w->n_listed + count + 1) * sizeof *grown);

  if (grown == NULL)
    return clarke_no_memory(f->err);
  w->list = grown;
  for (size_t e = 0; e < n && count > 0; e++)
    if (digit[e] != 0) {
      const size_t block = e / (d->outer * d->inner), at = e % (d->outer * d->inner);

      w->list[w->n_listed++] = (listed){
        .plane = plane, .block = block, .digit = (double)digit[e],
        .row = d->transposed ? at % d->outer : at / d->inner,
        .column = d->transposed ? at / d->outer : at % d->inner};
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

/* The planes of W, the highest first: from the first with few entries down they are lists. */
static clarke_status
cut_planes(clarke_slicing *f, const clarke_dense *d, cut_weight *w, double *left, size_t n)
{
  float *plane[CLARKE_PLANES] = {0};
  bool dense = true;
  clarke_status status = CLARKE_OK;

  for (size_t a = w->planes; a-- > 0 && status == CLARKE_OK;) {
    size_t count;

    plane[a] = malloc((n + 1) * sizeof *plane[a]);
    if (plane[a] == NULL) {
      status = clarke_no_memory(f->err);
      break;
    }
    count = cut_plane(left, plane[a], n, w->low + f->plan->width * (long)a);
    dense = dense && count * SPARSE > n;
    w->dense += dense;
    if (!dense) {
      status = list_plane(f, d, w, a, plane[a], n, count);
      free(plane[a]);
      plane[a] = NULL;
    }
  }
  if (status == CLARKE_OK)
    w->digit = malloc((w->dense * n + 1) * sizeof *w->digit);
  if (status == CLARKE_OK && w->digit == NULL)
    status = clarke_no_memory(f->err);
  for (size_t a = 0; a < w->dense && status == CLARKE_OK; a++)
    place_plane(d, w, a, plane[w->planes - w->dense + a], n / (d->outer * d->inner));
  for (size_t a = 0; a < w->planes; a++)
    free(plane[a]);
  return status;
}

static clarke_status
cut(clarke_slicing *f, const clarke_dense *d, cut_weight *w)
{
  const clarke_value *v = &f->g->values[d->weight];
  const long width = f->plan->width;
  double *left = malloc((v->count + 1) * sizeof *left);
  clarke_status status = left != NULL ? CLARKE_OK : clarke_no_memory(f->err);
  long low, high;

  bit_range(&low, &high, v->real, v->count);
  low = low == LONG_MAX ? 0 : clarke_slice_grid(low, width);
  high = high == LONG_MIN ? 0 : high;
  w->low = low;
  w->planes = high <= low ? 1 : (size_t)((high - low) / width) + 1;
  if (status == CLARKE_OK && (w->planes > CLARKE_PLANES || labs(low) > 1000)) {
    f->lost = true;
    status = CLARKE_EINPUT;
  }
  if (status == CLARKE_OK) {
    memcpy(left, v->real, v->count * sizeof *left);
    status = cut_planes(f, d, w, left, v->count);
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

  for (size_t k = 0; k < p->x->planes; k++) {
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

/* sum += the products of planes a of W and s - a of x. */
static void
add_place(const sliced_product *p, size_t b, size_t s, size_t width)
{
  const clarke_dense *d = p->d;
  const cut_weight *w = &p->w;
  const size_t block = d->grouped ? b : 0, sparse = w->planes - w->dense, planes = p->x->planes;
  size_t from = s + 1 > planes ? s + 1 - planes : 0, to = s < w->planes ? s + 1 : w->planes;

  for (size_t l = 0; l < w->n_listed; l++) {
    const listed *e = &w->list[l];

    if (e->block == block && e->plane >= from && e->plane < to)
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
  memset(p->sum, 0, p->d->outer * width * sizeof *p->sum);
  for (long k = shift < 0 ? -1 : 0; k < (long)y->planes; k++) {
    const long s = k - shift;

    if (s >= 0 && (size_t)s < pairs)
      add_place(p, b, (size_t)s, width);
    take_digits(f, p, y, k, out, width);
  }
  for (size_t e = 0; e < p->d->outer * width; e++) /* there are planes enough */
    f->lost = f->lost || p->sum[e] != 0;
}

/* An entry's error: W times that of its column; what products below the guard make, and the guard. gathered: what a
 * GATHER that was left to this product makes of norms. */
static void
bound_product(const clarke_slicing *f, const clarke_step *s, const sliced_product *p, clarke_sliced *y, double gathered)
{
  const clarke_sliced *x = p->x;
  const size_t i = (size_t)(s - f->g->steps);
  const clarke_growth *g = &f->plan->growths->growth[i][0];
  const double dropped = (double)p->w.planes * (double)p->d->inner / 4 * (1 + 0x1p-6);
  const double own = clarke_slice_up((dropped + 1) * ldexp(1, (int)y->low));
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
  size_t column = d->inner * p->x->planes * f->n, least = PANEL_COLUMNS / f->n + 1;

  p->places = PANEL / (column + 1) < least ? least : PANEL / (column + 1);
  p->places = p->places < d->repeat ? p->places : d->repeat;
  p->panel = malloc((column * p->places + 1) * sizeof *p->panel);
  p->sum = malloc((d->outer * p->places * f->n + 1) * sizeof *p->sum);
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
  clarke_status status = cut(f, d, &p.w);
  long low = f->plan->low[s->out], least = p.w.low + p.x->low;

  low = low > least ? low : least;
  if (status == CLARKE_OK) {
    const long top = (least - low) / width + (long)(p.w.planes + p.x->planes) + 1;

    status = clarke_sliced_alloc(f, y, d->blocks * d->outer * d->repeat, top > 0 ? (size_t)top : 1, low);
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
