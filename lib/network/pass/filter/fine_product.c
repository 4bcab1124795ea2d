/* Products in a fine pass: a bound of every entry, and the first of many products split. */
#include "network/pass/filter/filter.h"

#include <cblas.h>
#undef I
#include <stdlib.h>
#include <string.h>

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
panel_places(const clarke_filter *f, const fine_product *p)
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
      largest = clarke_larger(largest, fabs(p->w[first + i * stride]));
    by = splitter(largest, w_bits);
    for (size_t i = first; i < first + d->inner * stride; i += stride) {
      p->w_high[i] = p->w[i] + by - by;
      p->w_low[i] = p->w[i] - p->w_high[i];
    }
    p->row[r] = clarke_up_by(2 * gamma * (double)d->inner * ldexp(largest, -(int)w_bits), 8);
  }
}

/* x = high + low, by samples. */
static void
split_argument(const clarke_filter *f, const fine_product *p, size_t rows, double *by, size_t x_bits)
{
  memset(p->largest, 0, f->n * sizeof *p->largest);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < f->n; j++)
      p->largest[j] = clarke_larger(p->largest[j], fabs(p->x[i * f->n + j]));
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
fine_product_split(fine_product *p, clarke_filter *f, const clarke_enclosure *x, size_t room, size_t places)
{
  const clarke_dense *d = p->d;
  size_t count = (d->grouped ? d->blocks : 1) * d->outer * d->inner, entries = x->rows * f->n;
  size_t bits = 53, w_bits, x_bits;
  double gamma = clarke_gamma((double)(2 * d->inner + 8), CLARKE_UNIT);

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
      p->size[i + j] = clarke_up_float((double)x->each[i + j] +
                                       clarke_up_by(gamma * ldexp(p->largest[j], -(int)x_bits), 8));
  return CLARKE_OK;
}

/* Is this step one of the first of many products? */
static bool
wants_split(const clarke_filter *f, const clarke_step *s)
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
fine_product_init(fine_product *p, clarke_filter *f, const clarke_step *s)
{
  const clarke_dense *d = &s->dense;
  const clarke_step *gather = f->deferred[s->in[0].value];
  const clarke_enclosure *x = &f->value[gather != NULL ? gather->in[0].value : s->in[0].value];
  size_t count = f->g->values[d->weight].count, entries = x->rows * f->n, places, room;
  double gamma = clarke_gamma((double)(d->inner + 4), CLARKE_UNIT);
  double up = clarke_up_factor(1.01 * (double)(d->inner + 8) * 0x1p28); /* of floats, whose roundings are 2^29 times as large */

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
    p->absolute[e] = clarke_up_float(fabs(p->w[e]));
  if (p->split)
    return fine_product_split(p, f, x, room, places);
  for (size_t e = 0; e < entries; e++) {
    double size = (double)x->each[e] + gamma * fabs(x->y[e]);

    p->size[e] = size == 0 ? 0 : clarke_up_float(size);
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
fine_columns(const clarke_filter *f, const fine_product *p, size_t b, size_t first, size_t places)
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
add_low_products(const clarke_filter *f, const fine_product *p, size_t b, size_t out, columns x,
                 clarke_enclosure *y)
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
        each[c + j] = clarke_up_float((double)each[c + j] + row[o] * p->largest[j] +
                                      clarke_up_by(CLARKE_UNIT, 4) * fabs(value[c + j]));
      }
  }
}

/* Places `first` and on of block b of the product, and |W| times their sizes. */
static void
multiply_columns(const clarke_filter *f, const fine_product *p, size_t b, size_t first, columns x,
                 clarke_enclosure *y)
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
      each[c] = clarke_up_float((double)each[c] * p->up + p->least);
  }
  if (p->split)
    add_low_products(f, p, b, out, x, y);
}

/* err(y) <= |W| err(x) + gamma |W| |x| = |W| (err(x) + gamma |x|), entry by entry, in floats, which round
 * sums of nonnegative terms by a factor; what that takes from below the least float is added. */
clarke_status
clarke_filter_dense_fine(clarke_filter *f, const clarke_step *s, clarke_enclosure *y)
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
