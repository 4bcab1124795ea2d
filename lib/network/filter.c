#include "network/filter.h"

#include "exact/upward.h"
#include "network/piecewise.h"

#include <cblas.h>
#undef I
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define U 0x1p-53

/* An activation in doubles: |y - true| <= row[f] * col[j] at feature f, sample j; or, in a fine pass,
 * <= each[f * n + j]. */
typedef struct {
  double *y, *row, *col;
  float *each;
  size_t rows;
  bool known; /* false: computed from something the filter does not follow */
} enclosure;

typedef struct {
  const clarke_graph *g;
  size_t n;
  bool fine;
  enclosure *value; /* n_values */
  const clarke_step **deferred; /* n_values: see find_deferred */
  double *bound, *near; /* room for two rows each */
  int8_t *other;    /* a row of marks */
  uint64_t *mark;   /* four */
  size_t *last;     /* n_values: the last step that reads it; layers are dropped behind it */
  size_t step;      /* the one at work */
  int8_t **piece;
  size_t **ties;
  clarke_identities *ids; /* made when windows are open */
  const clarke_tensor *x;
  clarke_error *err;
} filter;

static void
enclosure_drop(enclosure *e)
{
  free(e->y);
  free(e->row);
  free(e->col);
  free(e->each);
  e->y = e->row = e->col = NULL;
  e->each = NULL;
}

static clarke_status
enclosure_alloc(filter *f, enclosure *e, size_t rows)
{
  e->rows = rows;
  e->known = true;
  e->y = malloc((rows * f->n + 1) * sizeof *e->y);
  e->row = malloc((rows + 1) * sizeof *e->row);
  e->col = malloc((f->n + 1) * sizeof *e->col);
  if (f->fine)
    e->each = malloc((rows * f->n + 1) * sizeof *e->each);
  return e->y != NULL && e->row != NULL && e->col != NULL && (e->each != NULL || !f->fine)
           ? CLARKE_OK
           : clarke_no_memory(f->err);
}

/* The copy of a value, made of the value itself where no later step reads it. */
static clarke_status
inherit(filter *f, enclosure *y, size_t value)
{
  enclosure *x = &f->value[value];
  clarke_status status;

  if (f->last[value] == f->step) {
    *y = *x;
    *x = (enclosure){0};
    return CLARKE_OK;
  }
  status = enclosure_alloc(f, y, x->rows);
  if (status != CLARKE_OK)
    return status;
  memcpy(y->y, x->y, x->rows * f->n * sizeof *y->y);
  memcpy(y->row, x->row, x->rows * sizeof *y->row);
  memcpy(y->col, x->col, f->n * sizeof *y->col);
  if (f->fine)
    memcpy(y->each, x->each, x->rows * f->n * sizeof *y->each);
  return CLARKE_OK;
}

/* The larger, or a NaN if there is one. */
static inline double
larger(double a, double b)
{
  return a >= b ? a : b >= a ? b : NAN;
}

/* At least v >= 0; infinity for a NaN: bounds that are floats are none. */
static inline float
up_float(double v)
{
  double up = v * (1 + 0x1p-22) + 0x1p-140;

  return (float)(v <= 0x1p127 ? up : (double)INFINITY);
}

static inline double
bound_at(const filter *f, const enclosure *e, size_t i, size_t j)
{
  return f->fine ? (double)e->each[i * f->n + j]
                 : e->row[i] * e->col[j] * (1 + 8 * U) + 8 * CLARKE_TINY;
}

/* The bounds of one row. */
static void
row_bounds(const filter *f, const enclosure *e, size_t i, double *bound)
{
  if (f->fine)
    for (size_t j = 0; j < f->n; j++)
      bound[j] = (double)e->each[i * f->n + j];
  else
    for (size_t j = 0; j < f->n; j++)
      bound[j] = e->row[i] * e->col[j] * (1 + 8 * U) + 8 * CLARKE_TINY;
}

/* An upper bound of the 2-norm of n doubles, stride apart. */
static double
norm_up(const double *v, size_t n, size_t stride)
{
  double sum = 0;

  for (size_t i = 0; i < n; i++)
    sum += v[i * stride] * v[i * stride];
  /* n products and sums, each within 1 + U, and what underflow took. */
  return sqrt((sum + (double)n * CLARKE_TINY) * (1 + (double)(2 * n + 8) * U)) * (1 + 4 * U);
}

/* The largest |y| of each sample, and the 2-norm bound of each sample's column. */
static void
column_sizes(const enclosure *e, size_t n, double *largest, double *norm)
{
  memset(largest, 0, n * sizeof *largest);
  memset(norm, 0, n * sizeof *norm);
  for (size_t i = 0; i < e->rows; i++)
    for (size_t j = 0; j < n; j++) {
      double y = e->y[i * n + j];

      if (!(fabs(y) <= largest[j]))
        largest[j] = fabs(y);
      norm[j] += y * y;
    }
  for (size_t j = 0; j < n; j++)
    norm[j] = sqrt((norm[j] + (double)e->rows * CLARKE_TINY) *
                   (1 + (double)(2 * e->rows + 8) * U)) * (1 + 4 * U);
}

static clarke_status
load_input(filter *f, const clarke_tensor *x)
{
  enclosure *e = &f->value[f->g->input];
  clarke_status status = enclosure_alloc(f, e, f->g->values[f->g->input].count);

  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < e->rows; i++) {
    e->row[i] = 0;
    for (size_t j = 0; j < f->n; j++)
      e->y[i * f->n + j] = x->real != NULL ? x->real[j * e->rows + i]
                                           : (double)x->integer[j * e->rows + i];
  }
  memset(e->col, 0, f->n * sizeof *e->col);
  if (f->fine)
    memset(e->each, 0, e->rows * f->n * sizeof *e->each);
  return CLARKE_OK;
}

/* The largest 2-norm of a column of the product, for each sample. */
static clarke_status
patch_norms(filter *f, const clarke_dense *d, const enclosure *x, double *norm)
{
  size_t width = d->repeat * f->n;
  double *sum = malloc((width + 1) * sizeof *sum);

  if (sum == NULL)
    return clarke_no_memory(f->err);
  memset(norm, 0, f->n * sizeof *norm);
  for (size_t b = 0; b < d->blocks; b++) {
    memset(sum, 0, width * sizeof *sum);
    for (size_t i = 0; i < d->inner; i++) {
      const double *in = x->y + (b * d->inner + i) * width;

      for (size_t c = 0; c < width; c++)
        sum[c] += in[c] * in[c];
    }
    for (size_t c = 0; c < width; c++)
      if (!(sum[c] <= norm[c % f->n]))
        norm[c % f->n] = sum[c];
  }
  for (size_t j = 0; j < f->n; j++)
    norm[j] = sqrt((norm[j] + (double)d->inner * CLARKE_TINY) *
                   (1 + (double)(2 * d->inner + 8) * U)) * (1 + 4 * U);
  free(sum);
  return CLARKE_OK;
}

/* y->row = |W| x->row, for each block and repeat: nonnegative terms, so the sum is off by a factor. */
static void
spread_rows(const clarke_dense *d, const double *w, const enclosure *x, enclosure *y)
{
  double up = (1 + 0x1p-20) * (1 + (double)(d->inner + 8) * U);

  for (size_t b = 0; b < d->blocks; b++)
    cblas_dgemm(CblasRowMajor, d->transposed ? CblasTrans : CblasNoTrans, CblasNoTrans,
                (int)d->outer, (int)d->repeat, (int)d->inner, 1,
                w + (d->grouped ? b * d->outer * d->inner : 0),
                (int)(d->transposed ? d->outer : d->inner), x->row + b * d->inner * d->repeat,
                (int)d->repeat, 0, y->row + b * d->outer * d->repeat, (int)d->repeat);
  for (size_t i = 0; i < y->rows; i++)
    y->row[i] = y->row[i] * up + (double)d->inner * CLARKE_TINY;
}

/* The norm of each row of a weight, or of each column when it is stored transposed. */
static double
weight_norm(const clarke_dense *d, const double *w, size_t b, size_t o)
{
  const double *rows = w + (d->grouped ? b * d->outer * d->inner : 0);

  return d->transposed ? norm_up(rows + o, d->inner, d->outer)
                       : norm_up(rows + o * d->inner, d->inner, 1);
}

static double
largest_of(const double *v, size_t n)
{
  double most = 0;

  for (size_t i = 0; i < n; i++)
    if (!(v[i] <= most))
      most = v[i];
  return most;
}

/* err(y) <= |W| err(x) + gamma |w| |x|, the first term row by row, the second by Cauchy-Schwarz; each
 * scaled to at most 1 so that one row bounds both. */
static clarke_status
dense_bounds(filter *f, const clarke_step *s, const enclosure *x, enclosure *y)
{
  const clarke_dense *d = &s->dense;
  const double *w = f->g->values[d->weight].real;
  size_t count = f->g->values[d->weight].count, rows = d->blocks * d->outer;
  double gamma = (double)(d->inner + 4) * U * (1 + 0x1p-20), spread, most;
  double *size = malloc((f->n + rows + count + 1) * sizeof *size);
  double *norm = size + f->n, *absolute = norm + rows;
  clarke_status status;

  if (size == NULL)
    return clarke_no_memory(f->err);
  status = patch_norms(f, d, x, size);
  for (size_t e = 0; e < count; e++)
    absolute[e] = fabs(w[e]);
  for (size_t i = 0; i < rows; i++)
    norm[i] = !d->grouped && i >= d->outer ? norm[i - d->outer]
                                           : weight_norm(d, w, i / d->outer, i % d->outer);
  if (status != CLARKE_OK) {
    free(size);
    return status;
  }
  spread_rows(d, absolute, x, y);
  spread = largest_of(y->row, y->rows);
  most = largest_of(norm, rows);
  for (size_t i = 0; i < y->rows; i++) {
    double by_row = spread > 0 ? y->row[i] / spread : 0;
    double by_norm = most > 0 ? norm[i / d->repeat] / most : 0;

    y->row[i] = larger(by_row, by_norm) * (1 + 4 * U) + 0x1p-500;
  }
  /* The added 2^-500 pairs cover underflow in products: inner * 2^-1074 < 2^-500 * 2^-500. */
  for (size_t j = 0; j < f->n; j++)
    y->col[j] = clarke_up_add(clarke_up_mul(spread, x->col[j]),
                              clarke_up_mul(gamma, clarke_up_mul(most, size[j]))) + 0x1p-500;
  free(size);
  return status;
}

/* --- products in a fine pass ------------------------------------------------------------------- */

/* Doubles of the columns gathered at a time, and their number at least. */
#define PANEL ((size_t)1 << 17)
#define PANEL_COLUMNS ((size_t)256)

/* In a network of many products the errors of the first are multiplied by all that follow: then these few are
 * computed as split ones. */
#define MANY_PRODUCTS 12
#define SPLIT_PRODUCTS 4
/* Exponents of what is split, for products of units not to underflow. */
#define SPLIT_EXPONENT 400

/* Columns of a product's argument: inner rows of `width` doubles, and what their bounds are made of. */
typedef struct {
  const double *y, *low; /* low: of a split one, whose y is its high part */
  const float *size;
  size_t width;
} columns;

typedef struct {
  const clarke_dense *d;
  const double *w;
  float *absolute;   /* |W| */
  const double *x;   /* the entries that the argument's are gathered from */
  float *size;       /* what |W| is multiplied by, entry by entry */
  const size_t *map; /* NULL: they are the argument's */
  double *panel, *panel_low; /* what is gathered */
  float *panel_size;
  double up, least;  /* what a sum's bound in floats is multiplied by, and increased */

  bool split;
  double *w_high, *w_low, *x_high, *x_low;
  double *row, *largest; /* by row of W: 2 gamma n times a bound of its low parts; by sample: of |x| */
  double *sum;           /* of a panel's products with low parts */
} fine_product;

static void
fine_product_clear(fine_product *p)
{
  free(p->absolute);
  free(p->size);
  free(p->panel);
  free(p->panel_low);
  free(p->panel_size);
  free(p->w_high);
  free(p->w_low);
  free(p->x_high);
  free(p->x_low);
  free(p->row);
  free(p->largest);
  free(p->sum);
}

/* How many of a block's places are gathered at a time. */
static size_t
panel_places(const filter *f, const fine_product *p)
{
  size_t places = PANEL / (p->d->inner * f->n + 1), least = PANEL_COLUMNS / f->n + 1;

  if (p->map == NULL)
    return p->d->repeat;
  places = places < least ? least : places;
  return places < p->d->repeat ? places : p->d->repeat;
}

/* With 2^(e - 1) <= largest < 2^e: what rounds every |x| <= largest to a multiple of 2^(e - bits), when it is added and
 * taken off again. NaN where products of such units could underflow. */
static double
splitter(double largest, size_t bits)
{
  int exponent;

  frexp(largest, &exponent);
  return largest <= DBL_MAX && abs(exponent) <= SPLIT_EXPONENT
           ? ldexp(1.5, 52 + exponent - (int)bits) : NAN;
}

/* W = high + low: by rows, so that every product of high parts is a multiple of one unit, and any sum of a row's is
 * below 2^53 of it: exact in every order. */
static void
split_weight(const fine_product *p, size_t w_bits, double gamma)
{
  const clarke_dense *d = p->d;

  for (size_t r = 0; r < (d->grouped ? d->blocks : 1) * d->outer; r++) {
    size_t stride = d->transposed ? d->outer : 1;
    size_t first = d->transposed ? r / d->outer * d->outer * d->inner + r % d->outer : r * d->inner;
    double largest = 0, by;

    for (size_t i = 0; i < d->inner; i++)
      largest = larger(largest, fabs(p->w[first + i * stride]));
    by = splitter(largest, w_bits);
    for (size_t i = first; i < first + d->inner * stride; i += stride) {
      p->w_high[i] = p->w[i] + by - by;
      p->w_low[i] = p->w[i] - p->w_high[i];
    }
    p->row[r] = 2 * gamma * (double)d->inner * ldexp(largest, -(int)w_bits) * (1 + 16 * U);
  }
}

/* x = high + low, by samples. */
static void
split_argument(const filter *f, const fine_product *p, size_t rows, double *by, size_t x_bits)
{
  memset(p->largest, 0, f->n * sizeof *p->largest);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < f->n; j++)
      p->largest[j] = larger(p->largest[j], fabs(p->x[i * f->n + j]));
  for (size_t j = 0; j < f->n; j++)
    by[j] = splitter(p->largest[j], x_bits);
  for (size_t i = 0; i < rows; i++) {
    const double *x = p->x + i * f->n;
    double *high = p->x_high + i * f->n, *low = p->x_low + i * f->n;

    for (size_t j = 0; j < f->n; j++) {
      high[j] = x[j] + by[j] - by[j];
      low[j] = x[j] - high[j];
    }
  }
}

/* W x = Wh xh + (W xl + Wl xh). The first is exact; the second, of 2 n products, is off by at most gamma_2n (|W| |xl| +
 * |Wl| |xh|), where |xl| <= 2^-x_bits max |x|, |Wl| <= 2^-w_bits max |w|, |xh| <= 2 max |x|; and the sum of both
 * is rounded once. */
static clarke_status
fine_product_split(fine_product *p, filter *f, const enclosure *x, size_t room, size_t places)
{
  const clarke_dense *d = p->d;
  size_t count = (d->grouped ? d->blocks : 1) * d->outer * d->inner, entries = x->rows * f->n;
  size_t bits = 53, w_bits, x_bits;
  double gamma = (double)(2 * d->inner + 8) * U * (1 + 0x1p-20);

  p->w_high = malloc((count + 1) * sizeof *p->w_high);
  p->w_low = malloc((count + 1) * sizeof *p->w_low);
  p->x_high = malloc((entries + 1) * sizeof *p->x_high);
  p->x_low = malloc((entries + 1) * sizeof *p->x_low);
  p->row = malloc((d->blocks * d->outer + 1) * sizeof *p->row);
  p->largest = malloc((f->n + 1) * sizeof *p->largest);
  p->sum = malloc((d->outer * places * f->n + 1) * sizeof *p->sum);
  p->panel_low = malloc((room + 1) * sizeof *p->panel_low);
  if (p->w_high == NULL || p->w_low == NULL || p->x_high == NULL || p->x_low == NULL ||
      p->row == NULL || p->largest == NULL || p->sum == NULL || p->panel_low == NULL)
    return clarke_no_memory(f->err);
  while (bits > 0 && (size_t)1 << (53 - bits) < d->inner)
    bits--;
  w_bits = bits / 2;
  x_bits = bits - w_bits;
  split_weight(p, w_bits, gamma);
  split_argument(f, p, x->rows, f->bound, x_bits);
  for (size_t i = 0; i < entries; i += f->n)
    for (size_t j = 0; j < f->n; j++)
      p->size[i + j] = up_float((double)x->each[i + j] +
                                gamma * ldexp(p->largest[j], -(int)x_bits) * (1 + 16 * U));
  return CLARKE_OK;
}

/* Is this step one of the first of many products? */
static bool
wants_split(const filter *f, const clarke_step *s)
{
  size_t products = 0, before = 0;

  for (size_t i = 0; i < f->g->n_steps; i++) {
    before += f->g->steps[i].kind == CLARKE_DENSE && &f->g->steps[i] < s;
    products += f->g->steps[i].kind == CLARKE_DENSE;
  }
  return products >= MANY_PRODUCTS && before < SPLIT_PRODUCTS;
}

/* Sizes err(x) + gamma |x| count for nothing where both parts are 0: an exact zero. */
static clarke_status
fine_product_init(fine_product *p, filter *f, const clarke_step *s)
{
  const clarke_dense *d = &s->dense;
  const clarke_step *gather = f->deferred[s->in[0].value];
  const enclosure *x = &f->value[gather != NULL ? gather->in[0].value : s->in[0].value];
  size_t count = f->g->values[d->weight].count, entries = x->rows * f->n, places, room;
  double gamma = (double)(d->inner + 4) * U * (1 + 0x1p-20);
  double up = 1 + 1.01 * (double)(d->inner + 8) * 0x1p-24;

  *p = (fine_product){.d = d, .w = f->g->values[d->weight].real, .x = x->y,
                      .map = gather != NULL ? gather->in[0].map : NULL,
                      .up = d->inner > 1 << 16 ? INFINITY : up, /* the factor is no bound then */
                      .least = (double)d->inner * 0x1p-140, .split = wants_split(f, s)};
  places = panel_places(f, p);
  room = p->map == NULL ? 0 : d->inner * places * f->n;
  p->absolute = malloc((count + 1) * sizeof *p->absolute);
  p->size = malloc((entries + 1) * sizeof *p->size);
  p->panel = malloc((room + 1) * sizeof *p->panel);
  p->panel_size = malloc((room + 1) * sizeof *p->panel_size);
  if (p->absolute == NULL || p->size == NULL || p->panel == NULL || p->panel_size == NULL)
    return clarke_no_memory(f->err);
  for (size_t e = 0; e < count; e++)
    p->absolute[e] = up_float(fabs(p->w[e]));
  if (p->split)
    return fine_product_split(p, f, x, room, places);
  for (size_t e = 0; e < entries; e++) {
    double size = (double)x->each[e] + gamma * fabs(x->y[e]);

    p->size[e] = (float)(size * (1 + 0x1p-22) + (size > 0 ? 0x1p-140 : 0)); /* as up_float, or 0 */
  }
  return CLARKE_OK;
}

/* Row `to` of a panel as row `from` of what it is gathered from. */
static void
gather_row(const fine_product *p, size_t to, size_t from, size_t n)
{
  const double *y = p->split ? p->x_high : p->x;

  if (from == CLARKE_NONE) {
    memset(p->panel + to, 0, n * sizeof *p->panel);
    memset(p->panel_size + to, 0, n * sizeof *p->panel_size);
  } else {
    memcpy(p->panel + to, y + from * n, n * sizeof *p->panel);
    memcpy(p->panel_size + to, p->size + from * n, n * sizeof *p->panel_size);
  }
  if (p->split && from == CLARKE_NONE)
    memset(p->panel_low + to, 0, n * sizeof *p->panel_low);
  else if (p->split)
    memcpy(p->panel_low + to, p->x_low + from * n, n * sizeof *p->panel_low);
}

/* The columns of `places` places of block b, from `first` on. */
static columns
fine_columns(const filter *f, const fine_product *p, size_t b, size_t first, size_t places)
{
  size_t width = places * f->n, begin = b * p->d->inner * p->d->repeat + first;
  const double *y = p->split ? p->x_high : p->x;

  if (p->map == NULL) /* all places */
    return (columns){y + begin * f->n, p->split ? p->x_low + begin * f->n : NULL,
                     p->size + begin * f->n, width};
  for (size_t i = 0; i < p->d->inner; i++)
    for (size_t r = 0; r < places; r++)
      gather_row(p, i * width + r * f->n, p->map[begin + i * p->d->repeat + r], f->n);
  return (columns){p->panel, p->panel_low, p->panel_size, width};
}

/* The second part of split products, and the rounding of the sum: over places of block b that begin at `out`. */
static void
add_low_products(const filter *f, const fine_product *p, size_t b, size_t out, columns x,
                 enclosure *y)
{
  const clarke_dense *d = p->d;
  CBLAS_TRANSPOSE form = d->transposed ? CblasTrans : CblasNoTrans;
  int outer = (int)d->outer, inner = (int)d->inner, stored = d->transposed ? outer : inner;
  int width = (int)x.width;
  size_t weight = d->grouped ? b * d->outer * d->inner : 0;
  const double *row = p->row + (d->grouped ? b * d->outer : 0);

  cblas_dgemm(CblasRowMajor, form, CblasNoTrans, outer, width, inner, 1, p->w + weight, stored, x.low,
              width, 0, p->sum, width);
  cblas_dgemm(CblasRowMajor, form, CblasNoTrans, outer, width, inner, 1, p->w_low + weight, stored,
              x.y, width, 1, p->sum, width);
  for (size_t o = 0; o < d->outer; o++) {
    double *value = y->y + out + o * d->repeat * f->n, *sum = p->sum + o * x.width;
    float *each = y->each + out + o * d->repeat * f->n;

    for (size_t c = 0; c < x.width; c += f->n)
      for (size_t j = 0; j < f->n; j++) {
        value[c + j] += sum[c + j];
        each[c + j] = up_float((double)each[c + j] + row[o] * p->largest[j] +
                               U * (1 + 8 * U) * fabs(value[c + j]));
      }
  }
}

/* Places `first` and on of block b of the product, and |W| times their sizes. */
static void
multiply_columns(const filter *f, const fine_product *p, size_t b, size_t first, columns x,
                 enclosure *y)
{
  const clarke_dense *d = p->d;
  CBLAS_TRANSPOSE form = d->transposed ? CblasTrans : CblasNoTrans;
  int outer = (int)d->outer, inner = (int)d->inner, stored = d->transposed ? outer : inner;
  int width = (int)x.width, row = (int)(d->repeat * f->n);
  size_t weight = d->grouped ? b * d->outer * d->inner : 0;
  size_t out = (b * d->outer * d->repeat + first) * f->n;

  cblas_dgemm(CblasRowMajor, form, CblasNoTrans, outer, width, inner, 1,
              (p->split ? p->w_high : p->w) + weight, stored, x.y, width, 0, y->y + out, row);
  cblas_sgemm(CblasRowMajor, form, CblasNoTrans, outer, width, inner, 1, p->absolute + weight, stored,
              x.size, width, 0, y->each + out, row);
  for (size_t o = 0; o < d->outer; o++) {
    float *each = y->each + out + o * d->repeat * f->n;

    for (size_t c = 0; c < x.width; c++)
      each[c] = up_float((double)each[c] * p->up + p->least);
  }
  if (p->split)
    add_low_products(f, p, b, out, x, y);
}

/* err(y) <= |W| err(x) + gamma |W| |x| = |W| (err(x) + gamma |x|), entry by entry, in floats, which round
 * sums of nonnegative terms by a factor; what that takes from below the least float is added. */
static clarke_status
dense_fine(filter *f, const clarke_step *s, enclosure *y)
{
  const clarke_dense *d = &s->dense;
  fine_product p;
  clarke_status status = fine_product_init(&p, f, s);
  size_t step = panel_places(f, &p);

  for (size_t b = 0; b < d->blocks && status == CLARKE_OK; b++)
    for (size_t first = 0; first < d->repeat; first += step) {
      size_t places = d->repeat - first < step ? d->repeat - first : step;

      multiply_columns(f, &p, b, first, fine_columns(f, &p, b, first, places), y);
    }
  fine_product_clear(&p);
  return status;
}

static clarke_status
filter_dense(filter *f, const clarke_step *s)
{
  const clarke_dense *d = &s->dense;
  const enclosure *x = &f->value[s->in[0].value];
  enclosure *y = &f->value[s->out];
  const double *w = f->g->values[d->weight].real;
  size_t width = d->repeat * f->n;
  clarke_status status = enclosure_alloc(f, y, d->blocks * d->outer * d->repeat);

  if (status != CLARKE_OK)
    return status;
  if (f->fine)
    return dense_fine(f, s, y);
  for (size_t b = 0; b < d->blocks; b++)
    cblas_dgemm(CblasRowMajor, d->transposed ? CblasTrans : CblasNoTrans, CblasNoTrans,
                (int)d->outer, (int)width, (int)d->inner, 1,
                w + (d->grouped ? b * d->outer * d->inner : 0),
                (int)(d->transposed ? d->outer : d->inner), x->y + b * d->inner * width,
                (int)width, 0, y->y + b * d->outer * width, (int)width);
  return dense_bounds(f, s, x, y);
}

/* --- sums --------------------------------------------------------------------------------------- */

/* Adds an operand to y: coef is a float, so a product rounds once, a sum once more. */
static void
accumulate(filter *f, enclosure *y, const clarke_operand *o, bool first)
{
  const clarke_value *v = &f->g->values[o->value];
  const enclosure *x = &f->value[o->value];

  for (size_t i = 0; i < y->rows; i++) {
    size_t from = o->map != NULL ? o->map[i] : i;
    double *out = y->y + i * f->n;
    bool nothing = from == CLARKE_NONE;

    for (size_t j = 0; j < f->n; j++) {
      double term = nothing ? 0 : o->coef * (v->constant ? v->real[from] : x->y[from * f->n + j]);

      out[j] = first ? term : out[j] + term;
    }
    y->row[i] = clarke_up_add(first ? 0 : y->row[i],
                              v->constant || nothing ? 0
                                                     : clarke_up_mul(fabs(o->coef), x->row[from]));
  }
  for (size_t j = 0; j < f->n; j++) /* r c + r' c' <= (r + r') max(c, c') */
    y->col[j] = larger(first ? 0 : y->col[j], v->constant ? 0 : x->col[j]);
}

/* Roundings of at most error[j] in sample j. Where they are small beside what is there the rows grow by
 * their ratio; else all rows become one. */
static void
add_rounding(filter *f, enclosure *y, const double *error)
{
  double ratio = 0, most;

  if (f->fine) {
    for (size_t i = 0; i < y->rows; i++)
      for (size_t j = 0; j < f->n; j++)
        y->each[i * f->n + j] = up_float((double)y->each[i * f->n + j] + error[j]);
    return;
  }
  for (size_t j = 0; j < f->n; j++) {
    double q = error[j] == 0 ? 0 : error[j] / y->col[j] * (1 + 4 * U);

    if (!(q <= ratio))
      ratio = q;
  }
  if (ratio <= 0x1p-3) {
    for (size_t i = 0; i < y->rows; i++)
      y->row[i] = clarke_up_add(y->row[i], ratio + CLARKE_TINY);
    return;
  }
  most = largest_of(y->row, y->rows);
  for (size_t i = 0; i < y->rows; i++)
    y->row[i] = 1;
  for (size_t j = 0; j < f->n; j++)
    y->col[j] = clarke_up_add(clarke_up_mul(most, y->col[j]), error[j]);
}

/* error[j] = the rounding of `operations` results of at most size[j] in absolute value. */
static void
round_sizes(double *size, size_t n, double operations)
{
  for (size_t j = 0; j < n; j++)
    size[j] = clarke_up_mul(operations * U * (1 + 0x1p-20), size[j]) + 2 * CLARKE_TINY;
}

/* Are all coefficients 1 or -1? Then their products do not round. */
static bool
plain_coefficients(const clarke_step *s)
{
  bool plain = true;

  for (size_t i = 0; i < s->n_in; i++)
    plain = plain && fabs(s->in[i].coef) == 1;
  return plain;
}

/* Adds an operand to a row, and its error; *size: the largest partial sum. */
static void
add_operand(const filter *f, const clarke_operand *o, size_t i, double *y, double *error,
            double *size)
{
  const clarke_value *v = &f->g->values[o->value];
  const enclosure *x = &f->value[o->value];
  size_t from = o->map != NULL ? o->map[i] : i;
  double coef = o->coef, weight = fabs(coef);

  if (from == CLARKE_NONE)
    return;
  for (size_t j = 0; j < f->n && v->constant; j++)
    y[j] += coef * v->real[from];
  for (size_t j = 0; j < f->n && !v->constant; j++)
    y[j] += coef * x->y[from * f->n + j];
  for (size_t j = 0; j < f->n && !v->constant; j++)
    error[j] += weight * (double)x->each[from * f->n + j];
  for (size_t j = 0; j < f->n; j++)
    size[j] = larger(size[j], fabs(y[j]));
}

/* In a fine pass: each entry with its own rounding, which is `operations` of its largest partial sum. The
 * first `begun` operands are there. */
static void
sum_fine(const filter *f, const clarke_step *s, enclosure *y, size_t begun, double operations)
{
  double *error = f->bound, *size = error + f->n, unit = operations * U * (1 + 0x1p-20);

  for (size_t i = 0; i < y->rows; i++) {
    double *out = y->y + i * f->n;
    float *each = y->each + i * f->n;

    for (size_t j = 0; j < f->n; j++) {
      out[j] = begun > 0 ? out[j] : 0;
      error[j] = begun > 0 ? (double)each[j] : 0;
      size[j] = fabs(out[j]);
    }
    for (size_t k = begun; k < s->n_in; k++)
      add_operand(f, &s->in[k], i, out, error, size);
    for (size_t j = 0; j < f->n; j++)
      each[j] = up_float(error[j] + unit * size[j]);
  }
}

/* Is the first operand of a sum, as it is, of one row for each of the sum's, and there once? */
static bool
begins_sum(const filter *f, const clarke_step *s)
{
  const clarke_operand *first = &s->in[0];
  bool once = first->map == NULL && first->coef == 1 && !f->g->values[first->value].constant;

  for (size_t k = 1; k < s->n_in; k++)
    once = once && s->in[k].value != first->value;
  return once;
}

static clarke_status
filter_sum(filter *f, const clarke_step *s)
{
  enclosure *y = &f->value[s->out];
  double *largest = calloc(f->n + 1, sizeof *largest);
  /* A sum's rounding is at most U times itself, and |coef * operand| <= |partial sum before| +
   * |after| <= 2 largest (and a rounding). */
  double operations = plain_coefficients(s) ? (double)s->n_in : (double)(16 * s->n_in);
  bool begun = f->fine && begins_sum(f, s);
  clarke_status status = begun ? inherit(f, y, s->in[0].value)
                               : enclosure_alloc(f, y, f->g->values[s->out].count);

  if (largest == NULL)
    status = clarke_no_memory(f->err);
  if (status == CLARKE_OK && f->fine)
    sum_fine(f, s, y, begun, operations);
  for (size_t i = 0; i < s->n_in && status == CLARKE_OK && !f->fine; i++) {
    accumulate(f, y, &s->in[i], i == 0);
    for (size_t e = 0; e < y->rows; e++)
      for (size_t j = 0; j < f->n; j++)
        largest[j] = larger(largest[j], fabs(y->y[e * f->n + j]));
  }
  if (status == CLARKE_OK && !f->fine) {
    round_sizes(largest, f->n, operations);
    add_rounding(f, y, largest);
  }
  free(largest);
  return status;
}

static clarke_status
filter_scale(filter *f, const clarke_step *s)
{
  const enclosure *x = &f->value[s->in[0].value];
  const clarke_value *c = &f->g->values[s->in[1].value];
  enclosure *y = &f->value[s->out];
  double *largest = calloc(2 * f->n + 1, sizeof *largest);
  double epsilon = s->root ? mpq_get_d(s->epsilon) : 0, operations = s->root ? 16 : 2;
  double unit = operations * U * (1 + 0x1p-20);
  clarke_status status = enclosure_alloc(f, y, f->g->values[s->out].count);

  if (largest == NULL)
    status = clarke_no_memory(f->err);
  for (size_t i = 0; i < y->rows && status == CLARKE_OK; i++) {
    size_t from = s->in[0].map != NULL ? s->in[0].map[i] : i;
    double k = c->real[s->in[1].map != NULL ? s->in[1].map[i] : i];

    if (s->root) /* within 4 U of sqrt(c + epsilon): two roundings before the root, which halves them */
      k = sqrt(k + epsilon);
    for (size_t j = 0; j < f->n; j++)
      y->y[i * f->n + j] =
        s->divide || s->root ? x->y[from * f->n + j] / k : x->y[from * f->n + j] * k;
    k = s->divide || s->root ? 1 / fabs(k) * (1 + 8 * U) : fabs(k);
    if (f->fine)
      for (size_t j = 0; j < f->n; j++)
        y->each[i * f->n + j] = up_float(k * (double)x->each[from * f->n + j] +
                                         unit * fabs(y->y[i * f->n + j]));
    else
      y->row[i] = clarke_up_mul(x->row[from], k);
  }
  if (status == CLARKE_OK && !f->fine) {
    memcpy(y->col, x->col, f->n * sizeof *y->col);
    column_sizes(y, f->n, largest, largest + f->n);
    round_sizes(largest, f->n, operations);
    add_rounding(f, y, largest);
  }
  free(largest);
  return status;
}

static clarke_status
filter_gather(filter *f, const clarke_step *s)
{
  const enclosure *x = &f->value[s->in[0].value];
  enclosure *y = &f->value[s->out];
  clarke_status status;

  if (f->deferred[s->out] != NULL) {
    y->known = true;
    return CLARKE_OK;
  }
  status = enclosure_alloc(f, y, f->g->values[s->out].count);
  for (size_t i = 0; i < y->rows && status == CLARKE_OK; i++) {
    size_t from = s->in[0].map != NULL ? s->in[0].map[i] : i;

    if (from == CLARKE_NONE)
      memset(y->y + i * f->n, 0, f->n * sizeof *y->y);
    else
      memcpy(y->y + i * f->n, x->y + from * f->n, f->n * sizeof *y->y);
    if (f->fine && from == CLARKE_NONE)
      memset(y->each + i * f->n, 0, f->n * sizeof *y->each);
    else if (f->fine)
      memcpy(y->each + i * f->n, x->each + from * f->n, f->n * sizeof *y->each);
    else
      y->row[i] = from == CLARKE_NONE ? 0 : x->row[from];
  }
  if (status == CLARKE_OK && !f->fine)
    memcpy(y->col, x->col, f->n * sizeof *y->col);
  return status;
}

/* A PIECEWISE step's numbers as doubles, each within a factor 1 + U of the rational. */
typedef struct {
  size_t n_kinks;
  double kink[CLARKE_MAX_KINKS], error[CLARKE_MAX_KINKS];
  double coef[CLARKE_MAX_KINKS + 1][3];
  bool only_zero; /* one kink, exactly at 0 */
  bool relu;      /* and the pieces 0 and x */
} float_pieces;

static void
float_pieces_set(float_pieces *p, const clarke_pieces *exact)
{
  p->n_kinks = exact->n_kinks;
  for (size_t k = 0; k < exact->n_kinks; k++) {
    p->kink[k] = mpq_get_d(exact->kink[k]); /* truncates: within 2U */
    p->error[k] = 2 * U * fabs(p->kink[k]) + CLARKE_TINY;
  }
  for (size_t i = 0; i <= exact->n_kinks; i++)
    for (size_t c = 0; c < 3; c++)
      p->coef[i][c] = mpq_get_d(exact->coef[i][c]);
  p->only_zero = exact->n_kinks == 1 && mpq_sgn(exact->kink[0]) == 0;
  p->relu = p->only_zero && exact->slope == CLARKE_NONE && p->coef[0][0] == 0 &&
            p->coef[0][1] == 0 && p->coef[1][0] == 0 && p->coef[1][1] == 1;
}

/* A place is decided only on a strict inequality between finite numbers: NaN stays open. */
static int8_t
decide(const float_pieces *p, double x, double bound)
{
  size_t piece = 0;

  for (size_t k = 0; k < p->n_kinks; k++) {
    double away = (bound + p->error[k]) * (1 + 8 * U) + 4 * U * fabs(p->kink[k]);
    double distance = x - p->kink[k];

    if (distance > away + 2 * U * fabs(distance))
      piece = k + 1;
    else if (!(-distance > away + 2 * U * fabs(distance)))
      return CLARKE_OPEN;
    else
      break;
  }
  return (int8_t)piece;
}

/* Codes as places; how many are open. They are made as doubles beside doubles, for loops without branches:
 * signs are anyone's guess. */
static size_t
store_places(int8_t *piece, const double *code, size_t n)
{
  size_t open = 0;

  for (size_t j = 0; j < n; j++)
    piece[j] = (int8_t)code[j];
  for (size_t j = 0; memchr(piece, CLARKE_OPEN, n) != NULL && j < n; j++)
    open += piece[j] == CLARKE_OPEN;
  return open;
}

/* One row of a step with its kink at 0. */
static size_t
decide_row_at_zero(int8_t *piece, const double *x, const double *away, double *code, size_t n)
{
  for (size_t j = 0; j < n; j++) {
    double left = x[j] < -away[j] ? 0 : CLARKE_OPEN;

    code[j] = x[j] > away[j] ? 1 : left;
  }
  return store_places(piece, code, n);
}

static double
piece_value(const float_pieces *p, size_t piece, double x)
{
  const double *c = p->coef[piece];

  return (c[2] * x + c[1]) * x + c[0];
}

static size_t
nearest_piece(const float_pieces *p, double x)
{
  size_t piece = 0;

  while (piece < p->n_kinks && x > p->kink[piece])
    piece++;
  return piece;
}

/* y and its bounds: Lipschitz continuity carries the error of x through (an open entry too), and
 * a few roundings of numbers no larger than `size`. */
static void
piecewise_values(filter *f, const clarke_step *s, const float_pieces *p, const enclosure *x,
                 enclosure *y, double *largest)
{
  double lipschitz = clarke_piecewise_lipschitz(f->g, s);
  double bend = fmax(fabs(p->coef[0][2]), fmax(fabs(p->coef[1][2]), 0));

  for (size_t i = 0; i < y->rows; i++) {
    double slope = s->pieces.slope == CLARKE_NONE
                     ? 0
                     : f->g->values[s->pieces.slope].real[s->pieces.slope_map != NULL
                                                            ? s->pieces.slope_map[i] : i];

    for (size_t j = 0; j < f->n; j++) {
      double in = x->y[i * f->n + j], size;
      size_t piece = nearest_piece(p, in);

      y->y[i * f->n + j] = s->pieces.slope != CLARKE_NONE ? (in > 0 ? in : slope * in)
                                                          : piece_value(p, piece, in);
      size = fabs(p->coef[piece][0]) + (lipschitz + bend * fabs(in)) * fabs(in);
      if (!(size <= largest[j]))
        largest[j] = size;
    }
    if (f->fine)
      for (size_t j = 0; j < f->n; j++)
        y->each[i * f->n + j] = up_float(lipschitz * (double)x->each[i * f->n + j]);
    else
      y->row[i] = clarke_up_mul(lipschitz, x->row[i]);
  }
  if (!f->fine)
    memcpy(y->col, x->col, f->n * sizeof *y->col);
}

static void
relu_values(filter *f, const enclosure *x, enclosure *y)
{
  for (size_t e = 0; e < x->rows * f->n; e++)
    y->y[e] = x->y[e] > 0 ? x->y[e] : 0;
  memcpy(y->row, x->row, x->rows * sizeof *y->row);
  memcpy(y->col, x->col, f->n * sizeof *y->col);
}

#define RELU_BLOCK 256

/* A relu in place, in a fine pass: where the argument is certainly negative the value is exactly 0. */
static size_t
relu_block(double *y, float *each, int8_t *piece, size_t n)
{
  double away[RELU_BLOCK], code[RELU_BLOCK];
  size_t open;

  for (size_t j = 0; j < n; j++)
    away[j] = (double)each[j];
  open = decide_row_at_zero(piece, y, away, code, n);
  for (size_t j = 0; j < n; j++) {
    away[j] = code[j] == 0 ? 0 : away[j];
    y[j] = y[j] > 0 ? y[j] : 0;
  }
  for (size_t j = 0; j < n; j++)
    each[j] = (float)away[j];
  return open;
}

static size_t
relu_fine(filter *f, enclosure *y, int8_t *piece)
{
  size_t open = 0, entries = y->rows * f->n;

  for (size_t e = 0; e < entries; e += RELU_BLOCK)
    open += relu_block(y->y + e, y->each + e, piece + e,
                       entries - e < RELU_BLOCK ? entries - e : RELU_BLOCK);
  return open;
}

static size_t
decide_all(filter *f, const clarke_step *s, const float_pieces *p, const enclosure *x,
           int8_t *piece)
{
  size_t open = 0;
  bool at_zero = p->only_zero && s->pieces.slope == CLARKE_NONE;

  for (size_t i = 0; i < x->rows; i++) {
    row_bounds(f, x, i, f->bound);
    if (at_zero) {
      open += decide_row_at_zero(piece + i * f->n, x->y + i * f->n, f->bound, f->near, f->n);
      continue;
    }
    for (size_t j = 0; j < f->n; j++) {
      int8_t c = decide(p, x->y[i * f->n + j], f->bound[j]);

      piece[i * f->n + j] = c;
      open += c == CLARKE_OPEN;
    }
  }
  return open;
}

static clarke_status
filter_piecewise(filter *f, const clarke_step *s, int8_t *piece, size_t *open)
{
  const enclosure *x = &f->value[s->in[0].value];
  enclosure *y = &f->value[s->out];
  float_pieces p = {0};
  double *largest;
  clarke_status status;

  float_pieces_set(&p, &s->pieces);
  status = p.relu && f->fine ? inherit(f, y, s->in[0].value) : enclosure_alloc(f, y, x->rows);
  if (status != CLARKE_OK)
    return status;
  if (p.relu && f->fine) {
    *open += relu_fine(f, y, piece);
    return CLARKE_OK;
  }
  *open += decide_all(f, s, &p, x, piece);
  if (p.relu) {
    relu_values(f, x, y);
    return CLARKE_OK;
  }
  largest = calloc(f->n + 1, sizeof *largest);
  if (largest == NULL)
    return clarke_no_memory(f->err);
  piecewise_values(f, s, &p, x, y, largest);
  round_sizes(largest, f->n, 32);
  add_rounding(f, y, largest);
  free(largest);
  return CLARKE_OK;
}

/* The bounds of one row of windows: a maximum is off by no more than the worst of its entries. */
static void
window_bounds(filter *f, const enclosure *x, const size_t *entry, size_t width, enclosure *y,
              size_t i)
{
  float *each = f->fine ? y->each + i * f->n : NULL;

  y->row[i] = 0;
  for (size_t j = 0; f->fine && j < f->n; j++)
    each[j] = 0;
  for (size_t p = 0; p < width; p++) {
    const float *in = f->fine && entry[p] != CLARKE_NONE ? x->each + entry[p] * f->n : NULL;

    if (!f->fine && entry[p] != CLARKE_NONE)
      y->row[i] = larger(y->row[i], x->row[entry[p]]);
    for (size_t j = 0; in != NULL && j < f->n; j++)
      each[j] = in[j] > each[j] ? in[j] : each[j];
  }
  row_bounds(f, y, i, f->bound);
}

/* One row of windows: the largest entry of each column, and its place; open where another's upper end
 * reaches its lower end. */
static size_t
decide_windows(filter *f, const enclosure *x, const size_t *entry, size_t width, double *y,
               int8_t *piece)
{
  double *near = f->near, *place = near + f->n; /* entries that may be the largest; the largest's place */
  double *away = f->bound;
  size_t begun = 0;

  for (size_t i = 0; i < width; i++) {
    const double *in = entry[i] == CLARKE_NONE ? NULL : x->y + entry[i] * f->n;

    if (in == NULL)
      continue;
    for (size_t j = 0; begun == 0 && j < f->n; j++) {
      y[j] = in[j];
      place[j] = (double)i;
    }
    for (size_t j = 0; begun > 0 && j < f->n; j++)
      place[j] = in[j] > y[j] ? (double)i : place[j];
    for (size_t j = 0; begun > 0 && j < f->n; j++)
      y[j] = in[j] > y[j] ? in[j] : y[j];
    begun++;
  }
  for (size_t j = 0; j < f->n; j++) {
    away[j] = 2 * away[j] * (1 + 16 * U) + 8 * CLARKE_TINY;
    near[j] = 0;
  }
  for (size_t i = 0; i < width; i++) {
    const double *in = entry[i] == CLARKE_NONE ? NULL : x->y + entry[i] * f->n;

    for (size_t j = 0; in != NULL && j < f->n; j++) {
      double distance = y[j] - in[j];

      near[j] += distance > away[j] + 2 * U * distance ? 0 : 1;
    }
  }
  for (size_t j = 0; j < f->n; j++) /* the largest is near itself */
    place[j] = near[j] > 1 ? CLARKE_OPEN : place[j];
  return begun > 0 ? store_places(piece, place, f->n) : 0;
}

/* Where the argument is an activation that is 0 left of its first kink: its places. */
static const int8_t *
places_of_zeros(const filter *f, const clarke_step *s)
{
  size_t step = f->g->values[s->in[0].value].producer;
  const clarke_step *p = step != CLARKE_NONE ? &f->g->steps[step] : NULL;
  bool zeros = p != NULL && p->kind == CLARKE_PIECEWISE && p->pieces.slope == CLARKE_NONE;

  for (size_t d = 0; d < 3 && zeros; d++)
    zeros = mpq_sgn(p->pieces.coef[0][d]) == 0;
  return zeros ? f->piece[step] : NULL;
}

/* Open windows of one row that hold nothing but such zeros, which are identical: the first is taken. How
 * many there are. */
static size_t
settle_zeros(filter *f, const int8_t *zero, const size_t *entry, size_t width, int8_t *piece,
             size_t *ties)
{
  size_t first = width, settled = 0;
  int8_t *other = f->other;

  memset(other, 0, f->n);
  for (size_t p = width; p-- > 0;) {
    const int8_t *in = entry[p] == CLARKE_NONE ? NULL : zero + entry[p] * f->n;

    for (size_t j = 0; in != NULL && j < f->n; j++)
      other[j] |= in[j];
    first = in != NULL ? p : first;
  }
  for (size_t j = 0; j < f->n; j++)
    other[j] = other[j] == 0 && piece[j] == CLARKE_OPEN;
  for (size_t j = 0; j < f->n; j++)
    piece[j] = other[j] ? (int8_t)first : piece[j];
  for (size_t j = 0; j < f->n; j++) {
    ties[j] += (size_t)other[j];
    settled += (size_t)other[j];
  }
  return settled;
}

/* Are the entries that may be the largest of an open window identical? Then the window is decided, with
 * the first of them, and tied. */
static bool
identical_entries(filter *f, const clarke_step *s, const enclosure *y, size_t i, size_t j,
                  int8_t *piece)
{
  size_t x = s->in[0].value;
  const size_t *entry = s->in[0].map + i * s->width;
  double away = 2 * bound_at(f, y, i, j) * (1 + 16 * U) + 8 * CLARKE_TINY;
  clarke_identity first = 0;

  for (size_t p = 0; p < s->width; p++) {
    double distance;
    clarke_identity id;

    if (entry[p] == CLARKE_NONE)
      continue;
    distance = y->y[i * f->n + j] - f->value[x].y[entry[p] * f->n + j];
    if (distance > away + 2 * U * distance)
      continue;
    id = clarke_identity_of(f->ids, x, entry[p], j);
    if (first == 0) {
      first = id;
      *piece = (int8_t)p;
    }
    if (id != first || id == 0) {
      *piece = CLARKE_OPEN;
      return false;
    }
  }
  return true;
}

/* All bits of mark[j]: may the entry be the largest of its window? away: how far below that others are. */
static void
mark_near(uint64_t *mark, const double *largest, const double *entry, const double *away, size_t n)
{
  for (size_t j = 0; j < n; j++) {
    double distance = largest[j] - entry[j];

    mark[j] = distance > away[j] + 2 * U * distance ? 0 : ~(uint64_t)0;
  }
}

static bool
any_marked(const uint64_t *mark, size_t n)
{
  uint64_t any = 0;

  for (size_t j = 0; j < n; j++)
    any |= mark[j];
  return any != 0;
}

/* Open windows of one row whose entries that may be the largest are the same, as far as rows tell: the first of
 * these is taken. How many there are. */
static size_t
settle_rows(filter *f, const clarke_step *s, const double *y, const size_t *entry, int8_t *piece,
            size_t *ties)
{
  const enclosure *x = &f->value[s->in[0].value];
  const double *input = f->value[f->g->input].y, *away = f->bound;
  uint64_t *same = f->mark, *open = same + f->n, *near = open + f->n, *both = near + f->n;
  size_t settled = 0;

  for (size_t j = 0; j < f->n; j++)
    open[j] = piece[j] == CLARKE_OPEN ? ~(uint64_t)0 : 0;
  for (size_t p = 0; p < s->width && any_marked(open, f->n); p++) {
    if (entry[p] == CLARKE_NONE)
      continue;
    mark_near(same, y, x->y + entry[p] * f->n, away, f->n);
    for (size_t j = 0; j < f->n; j++) {
      same[j] &= open[j];
      open[j] &= ~same[j];
    }
    for (size_t q = p + 1; q < s->width && any_marked(same, f->n); q++) {
      if (entry[q] == CLARKE_NONE)
        continue;
      mark_near(near, y, x->y + entry[q] * f->n, away, f->n);
      memcpy(both, same, f->n * sizeof *both);
      clarke_identity_compare(both, f->ids, input, s->in[0].value, entry[p], entry[q]);
      for (size_t j = 0; j < f->n; j++)
        same[j] &= both[j] | ~near[j];
    }
    for (size_t j = 0; j < f->n; j++)
      if (same[j] != 0) {
        piece[j] = (int8_t)p;
        ties[j]++;
        settled++;
      }
  }
  return settled;
}

/* One row of windows. */
static clarke_status
settle_windows(filter *f, const clarke_step *s, const enclosure *y, size_t i, int8_t *piece,
               size_t *ties, size_t *open)
{
  if (f->ids == NULL)
    f->ids = clarke_identities_new(f->g, f->n, f->piece, NULL, f->x);
  if (f->ids == NULL)
    return clarke_no_memory(f->err);
  *open -= settle_rows(f, s, y->y + i * f->n, s->in[0].map + i * s->width, piece, ties);
  for (size_t j = 0; j < f->n && *open > 0; j++)
    if (piece[j] == CLARKE_OPEN && identical_entries(f, s, y, i, j, &piece[j])) {
      ties[j]++;
      (*open)--;
    }
  return clarke_identities_failed(f->ids) ? clarke_no_memory(f->err)
                                          : CLARKE_OK;
}

static clarke_status
filter_max(filter *f, const clarke_step *s, int8_t *piece, size_t *ties, size_t *open)
{
  const enclosure *x = &f->value[s->in[0].value];
  const int8_t *zero = places_of_zeros(f, s);
  enclosure *y = &f->value[s->out];
  clarke_status status = enclosure_alloc(f, y, f->g->values[s->out].count);

  if (status != CLARKE_OK)
    return status;
  if (!f->fine)
    memcpy(y->col, x->col, f->n * sizeof *y->col);
  for (size_t i = 0; i < y->rows && status == CLARKE_OK; i++, piece += f->n) {
    const size_t *entry = s->in[0].map + i * s->width;
    size_t left;

    window_bounds(f, x, entry, s->width, y, i);
    left = decide_windows(f, x, entry, s->width, y->y + i * f->n, piece);
    if (left > 0 && zero != NULL)
      left -= settle_zeros(f, zero, entry, s->width, piece, ties);
    if (left > 0)
      status = settle_windows(f, s, y, i, piece, ties, &left);
    *open += left;
  }
  return status;
}

/* A group of a NORMALIZE step as it was computed, and what its entries' bounds have in common. */
typedef struct {
  double mean, deviation;
  double shift; /* >= the error of an entry less the mean that is not the entry's own */
  double off;   /* >= |deviation - the true one| */
  double least; /* <= the true deviation */
} float_group;

/* Sums over a group's entries: of x, |x|, their bounds, the squares of these. */
typedef struct {
  double x, size, bound, square;
} group_sums;

/* The i-th feature of a group. */
static size_t
group_feature(const clarke_grouping *o, size_t group, size_t i)
{
  return (i / o->length * o->groups + group) * o->length + i % o->length;
}

static group_sums
sum_group(const filter *f, const clarke_grouping *o, const enclosure *x, size_t group, size_t from,
          size_t to)
{
  group_sums sums = {0};

  for (size_t i = 0; i < o->blocks * o->length; i++) {
    size_t feature = group_feature(o, group, i);

    for (size_t j = from; j < to; j++) {
      double y = x->y[feature * f->n + j], bound = bound_at(f, x, feature, j);

      sums.x += y;
      sums.size += fabs(y);
      sums.bound += bound;
      sums.square += bound * bound;
    }
  }
  return sums;
}

/* The squares of a group's entries less a mean. */
static double
sum_squares(const filter *f, const clarke_grouping *o, const enclosure *x, size_t group, double mean,
            size_t from, size_t to)
{
  double sum = 0;

  for (size_t i = 0; i < o->blocks * o->length; i++)
    for (size_t j = from; j < to; j++) {
      double c = x->y[group_feature(o, group, i) * f->n + j] - mean;

      sum += c * c;
    }
  return sum;
}

/* docs/filter.md has the bounds. An overflow, or an epsilon near which underflow would count, leaves none:
 * they are NaN. */
static float_group
measure_group(const filter *f, const clarke_step *s, const enclosure *x, size_t group, size_t from,
              size_t to)
{
  const clarke_grouping *o = &s->grouping;
  group_sums sums = sum_group(f, o, x, group, from, to);
  double m = (double)clarke_step_group_size(s, f->n), epsilon = mpq_get_d(s->epsilon);
  double gamma = (m + 8) * U * (1 + 0x1p-20), up = (1 + gamma) * (1 + 0x1p-40), moved;
  float_group g = {.mean = sums.x / m};

  g.deviation = sqrt(sum_squares(f, o, x, group, g.mean, from, to) / m + epsilon);
  g.shift = gamma * up * (sums.size / m) + CLARKE_TINY;
  moved = sqrt((sums.square + m * CLARKE_TINY) * up / m) * up + g.shift + 2 * U * g.deviation;
  g.shift = (g.shift + sums.bound / m * up) * up;
  g.off = (moved + 2 * gamma * g.deviation) * up;
  g.least = fmax((g.deviation - g.off) * (1 - 8 * U), sqrt(epsilon) * (1 - 8 * U));
  if (!(g.deviation <= DBL_MAX) || !(epsilon >= 0x1p-500) || !(m <= 0x1p30))
    g.off = NAN;
  return g;
}

/* The values of a group, and a bound of each. */
static void
normalize_group(const filter *f, const clarke_step *s, const enclosure *x, double *y, double *bound,
                size_t group, size_t from, size_t to)
{
  const clarke_grouping *o = &s->grouping;
  float_group g = measure_group(f, s, x, group, from, to);

  for (size_t i = 0; i < o->blocks * o->length; i++)
    for (size_t j = from; j < to; j++) {
      size_t feature = group_feature(o, group, i), e = feature * f->n + j;
      double c = x->y[e] - g.mean, q = c / g.deviation;
      double own = bound_at(f, x, feature, j) + g.shift + 2 * U * fabs(c);

      y[e] = q;
      bound[e] = (own + (fabs(q) * (1 + 8 * U) + 0x1p-500) * g.off) / g.least * (1 + 0x1p-40) +
                 2 * U * fabs(q) + 0x1p-500;
    }
}

/* Bounds of every entry as those of the enclosure: rows and columns that are nowhere below them. */
static void
fit_bounds(const filter *f, enclosure *y, const double *bound)
{
  if (f->fine) {
    for (size_t e = 0; e < y->rows * f->n; e++)
      y->each[e] = up_float(bound[e]);
    return;
  }
  memset(y->row, 0, y->rows * sizeof *y->row);
  memset(y->col, 0, f->n * sizeof *y->col);
  for (size_t e = 0; e < y->rows * f->n; e++)
    y->col[e % f->n] = larger(y->col[e % f->n], bound[e]);
  for (size_t e = 0; e < y->rows * f->n; e++)
    y->row[e / f->n] =
      larger(y->row[e / f->n], bound[e] / y->col[e % f->n] * (1 + 4 * U) + 0x1p-500);
}

static clarke_status
filter_normalize(filter *f, const clarke_step *s)
{
  const enclosure *x = &f->value[s->in[0].value];
  enclosure *y = &f->value[s->out];
  double *bound = malloc((x->rows * f->n + 1) * sizeof *bound);
  size_t each = s->grouping.couples ? f->n : 1;
  clarke_status status = enclosure_alloc(f, y, x->rows);

  if (bound == NULL)
    status = clarke_no_memory(f->err);
  for (size_t group = 0; group < s->grouping.groups && status == CLARKE_OK; group++)
    for (size_t from = 0; from < f->n; from += each)
      normalize_group(f, s, x, y->y, bound, group, from, from + each);
  if (status == CLARKE_OK)
    fit_bounds(f, y, bound);
  free(bound);
  return status;
}

/* Does the filter follow this step's inputs? */
static bool
inputs_known(const filter *f, const clarke_step *s)
{
  for (size_t i = 0; i < s->n_in; i++)
    if (!f->g->values[s->in[i].value].constant && !f->value[s->in[i].value].known)
      return false;
  return s->kind != CLARKE_ANALYTIC && s->kind != CLARKE_SOFTMAX;
}

/* Every place open, no tie, to begin with. */
static clarke_status
allocate_places(filter *f, size_t i)
{
  const clarke_step *s = &f->g->steps[i];
  size_t entries = f->g->values[s->out].count * f->n;

  f->piece[i] = malloc(entries + 1);
  if (s->kind == CLARKE_MAX)
    f->ties[i] = calloc(f->n + 1, sizeof **f->ties);
  if (f->piece[i] == NULL || (s->kind == CLARKE_MAX && f->ties[i] == NULL))
    return clarke_no_memory(f->err);
  memset(f->piece[i], CLARKE_OPEN, entries);
  return CLARKE_OK;
}

static clarke_status
filter_step(filter *f, size_t i, size_t *open, size_t *foreign)
{
  const clarke_step *s = &f->g->steps[i];
  clarke_status status = clarke_step_has_kinks(s) ? allocate_places(f, i) : CLARKE_OK;

  f->step = i;
  if (status != CLARKE_OK)
    return status;
  if (!inputs_known(f, s)) {
    *foreign += clarke_step_has_kinks(s) ? f->g->values[s->out].count * f->n : 0;
    return CLARKE_OK;
  }
  switch (s->kind) {
  case CLARKE_GATHER:
    return filter_gather(f, s);
  case CLARKE_SUM:
    return filter_sum(f, s);
  case CLARKE_SCALE:
    return filter_scale(f, s);
  case CLARKE_DENSE:
    return filter_dense(f, s);
  case CLARKE_PIECEWISE:
    return filter_piecewise(f, s, f->piece[i], open);
  case CLARKE_NORMALIZE:
    return filter_normalize(f, s);
  case CLARKE_MAX:
    return filter_max(f, s, f->piece[i], f->ties[i], open);
  case CLARKE_ANALYTIC:
  case CLARKE_SOFTMAX:
    break;
  }
  return CLARKE_OK;
}

static void
find_last_uses(size_t *last, const clarke_graph *g)
{
  for (size_t v = 0; v < g->n_values; v++)
    last[v] = CLARKE_NONE;
  for (size_t i = 0; i < g->n_steps; i++)
    for (size_t k = 0; k < g->steps[i].n_in; k++)
      last[g->steps[i].in[k].value] = i;
}

/* A GATHER whose output one product alone reads, in a fine pass, is left to that: it gathers its columns piece
 * by piece, and reads them while they are near. */
static void
find_deferred(filter *f, size_t *last)
{
  const clarke_graph *g = f->g;

  for (size_t i = 0; i < g->n_steps && f->fine; i++) {
    const clarke_step *s = &g->steps[i];
    size_t reader = last[s->out], readers = 0, source = s->in[0].value;

    if (s->kind != CLARKE_GATHER || reader == CLARKE_NONE || g->steps[reader].kind != CLARKE_DENSE)
      continue;
    for (size_t k = i + 1; k <= reader; k++)
      for (size_t o = 0; o < g->steps[k].n_in; o++)
        readers += g->steps[k].in[o].value == s->out;
    if (readers != 1)
      continue;
    f->deferred[s->out] = s;
    if (last[source] < reader)
      last[source] = reader;
  }
}

clarke_status
clarke_filter_run(int8_t **piece, size_t **ties, size_t *open, size_t *foreign,
                  const clarke_graph *g, const clarke_tensor *x, bool fine, size_t limit,
                  clarke_error *err)
{
  filter f = {.g = g, .n = x->dims[0], .fine = fine, .piece = piece, .ties = ties, .x = x,
              .err = err};
  bool *needed;
  size_t *last;
  clarke_status status;

  *open = *foreign = 0;
  if (f.n != g->samples && clarke_graph_couples(g))
    return clarke_fail(err, CLARKE_EINTERNAL, "a filter over some of the samples, which are coupled");
  needed = malloc((g->n_values + 1) * sizeof *needed);
  f.last = last = malloc((g->n_values + 1) * sizeof *last);
  f.value = calloc(g->n_values + 1, sizeof *f.value);
  f.deferred = calloc(g->n_values + 1, sizeof *f.deferred);
  f.bound = malloc((5 * f.n + 1) * sizeof *f.bound);
  f.mark = malloc((4 * f.n + 1) * sizeof *f.mark);
  f.near = f.bound + 2 * f.n;
  f.other = (int8_t *)(f.bound + 4 * f.n);
  if (needed == NULL || f.value == NULL || last == NULL || f.bound == NULL || f.deferred == NULL ||
      f.mark == NULL) {
    free(needed);
    free(last);
    free(f.value);
    free(f.deferred);
    free(f.bound);
    free(f.mark);
    return clarke_no_memory(err);
  }
  clarke_graph_needed(g, false, needed);
  find_last_uses(last, g);
  find_deferred(&f, last);
  last[g->input] = CLARKE_NONE; /* x stays: windows' entries are compared by it */
  status = load_input(&f, x);
  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK && *open <= limit; i++) {
    if (needed[g->steps[i].out] || clarke_step_has_kinks(&g->steps[i]))
      status = filter_step(&f, i, open, foreign);
    for (size_t k = 0; k < g->steps[i].n_in; k++)
      if (last[g->steps[i].in[k].value] == i)
        enclosure_drop(&f.value[g->steps[i].in[k].value]);
  }
  for (size_t v = 0; v < g->n_values; v++)
    enclosure_drop(&f.value[v]);
  clarke_identities_free(f.ids);
  free(f.value);
  free(f.deferred);
  free(f.bound);
  free(f.mark);
  free(needed);
  free(last);
  return status;
}
