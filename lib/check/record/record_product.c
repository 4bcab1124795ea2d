/* Sums of LINEAR steps as products of matrices (record_product.h).
 *
 * A column is a row of sources for one sample. Of a convolution that is what a filter is laid on, and all filters are laid on it: so columns
 * are packed, some at a time, for all features that read them. */
#include "check/record/record_product.h"
#include "check/base/allocate.h"
#include "check/base/wide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 64 /* that are packed at once */
#define TILE 32    /* rows of these that stay in the fastest memory */
#define LANES 8
#define LEAST 0x1p-400 /* no product of two numbers that are as large is subnormal */

typedef double lanes __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef int64_t lane_bits __attribute__((vector_size(8 * LANES)));

/* ---- Products of matrices, whose rows have COLUMNS entries */

#define absolute(x) (lanes)((lane_bits)(x)&INT64_MAX)

/* Rows r of sums, and of those of absolute values: the sum over q of a[r][q] x[q], added; a has `apart` entries a row. */
static WIDE void
add_rows(double *sums, double *sizes, const double *a, size_t apart, size_t rows, const double *x, size_t n)
{
  for (size_t r = 0; r < rows; r++)
    for (size_t l = 0; l < COLUMNS; l += 2 * LANES) {
      lanes *to = (lanes *)(sums + r * COLUMNS + l), *of = (lanes *)(sizes + r * COLUMNS + l);
      lanes s = to[0], t = to[1], m = of[0], k = of[1];
      for (size_t q = 0; q < n; q++) {
        const lanes *by = (const lanes *)(x + q * COLUMNS + l);
        lanes y = a[r * apart + q] * by[0], z = a[r * apart + q] * by[1];
        s += y;
        t += z;
        m += absolute(y);
        k += absolute(z);
      }
      to[0] = s;
      to[1] = t;
      of[0] = m;
      of[1] = k;
    }
}

static inline double
total(const lanes *of)
{
  const double *x = (const double *)of;
  return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
}

/* Sum i of products of row h with row i of x. */
static WIDE void
add_dots(filter *to, const double *h, const double *x, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    lanes s = {0}, m = {0};
    for (size_t l = 0; l < COLUMNS; l += LANES) {
      lanes y = *(const lanes *)(h + l) * *(const lanes *)(x + i * COLUMNS + l);
      s += y;
      m += absolute(y);
    }
    to[i].sum += total(&s);
    to[i].size += total(&m);
  }
}

/* ---- A step */

/* order: its features by their row of sources; of row k from start[k] on. alike: the row's features have those rows of factors that the
 * features of the row before have. */
typedef struct {
  const record *r;
  const step *st;
  size_t rows, *order, *start;
  bool *alike;
} product;

static void
sort_features(product *p)
{
  const step *st = p->st;
  size_t *next = allocate(p->rows + 1, sizeof *next);
  for (size_t f = 0; f < st->n; f++)
    p->start[st->source_row[f] + 1]++;
  for (size_t k = 0; k < p->rows; k++) {
    p->start[k + 1] += p->start[k];
    next[k] = p->start[k];
  }
  for (size_t f = 0; f < st->n; f++)
    p->order[next[st->source_row[f]]++] = f;
  free(next);
}

static bool
is_alike(const product *p, size_t row)
{
  const size_t *before = &p->order[p->start[row - 1]], *own = &p->order[p->start[row]];
  size_t n = p->start[row + 1] - p->start[row];
  bool same = n == p->start[row] - p->start[row - 1];
  for (size_t j = 0; j < n && same; j++)
    same = p->st->factor_row[own[j]] == p->st->factor_row[before[j]];
  return same;
}

static product
product_begin(const record *r, const step *st)
{
  size_t rows = st->n_sources / st->width;
  product p = {r,
               st,
               rows,
               allocate(st->n, sizeof *p.order),
               allocate(rows + 1, sizeof *p.start),
               allocate(rows, sizeof *p.alike)};
  sort_features(&p);
  for (size_t k = 1; k < rows; k++)
    p.alike[k] = is_alike(&p, k);
  return p;
}

static void
product_end(const product *p)
{
  free(p->order);
  free(p->start);
  free(p->alike);
}

bool
product_fits(const record *r, const step *st)
{
  bool fits = st->kind == LINEAR && !st->divide && st->width > 0 && st->n_sources > 0 && st->n_factors > 0
              && st->width * r->p->net->batch >= TILE;
  for (size_t i = 0; i < st->n_factors && fits; i++)
    fits = st->factors[i].w != NULL && st->factors[i].w->whole != NULL
           && mpz_cmpabs(mpq_numref(st->factors[i].coef), mpq_denref(st->factors[i].coef)) == 0;
  if (!fits)
    return false;
  product p = product_begin(r, st);
  size_t blocks = 0;
  for (size_t k = 0; k < p.rows; k++)
    blocks += !p.alike[k];
  product_end(&p);
  return blocks * TILE <= p.rows * r->p->net->batch;
}

/* ---- Columns */

/* Some columns, whose features have one list of factors' rows; these rows, and those with rows and terms exchanged. */
typedef struct {
  size_t n, row[COLUMNS], sample[COLUMNS];
  const size_t *feature; /* of the first column */
  size_t list;           /* how many */
  double *w, *turned;    /* [list][width], [width][list] */
  double *x;             /* [width][COLUMNS] */
  double *h;             /* [list][COLUMNS]: gradients of the features */
  double *sum, *size;    /* of products: [list][COLUMNS], or [width][COLUMNS] */
  /* How many terms are there, and have a source: of a column; of each place in all columns. */
  size_t terms[COLUMNS], sources[COLUMNS], *terms_at, *sources_at;
} block;

static double
safe(double x)
{
  return x == 0 || fabs(x) >= LEAST ? x : NAN;
}

static double
weight_of(const factor *w)
{
  return mpq_sgn(w->coef) < 0 ? -safe(w->w->whole[w->at].d) : safe(w->w->whole[w->at].d);
}

static void
fill_weights(block *c, const product *p)
{
  size_t width = p->st->width;
  free(c->w);
  free(c->turned);
  c->w = allocate(c->list * width, sizeof *c->w);
  c->turned = allocate(c->list * width, sizeof *c->turned);
  for (size_t j = 0; j < c->list; j++)
    for (size_t i = 0; i < width; i++) {
      double w = weight_of(&p->st->factors[p->st->factor_row[c->feature[j]] * width + i]);
      c->w[j * width + i] = c->turned[i * c->list + j] = w;
    }
}

static double
source_value(const record *r, source x, size_t b)
{
  return x.step == PADDING ? 0 : x.step == NONE ? 1 : safe(record_read(r, x, b)->d);
}

static void
fill_columns(block *c, const product *p)
{
  size_t width = p->st->width;
  memset(c->x, 0, width * COLUMNS * sizeof *c->x);
  memset(c->terms_at, 0, width * sizeof *c->terms_at);
  memset(c->sources_at, 0, width * sizeof *c->sources_at);
  for (size_t l = 0; l < c->n; l++) {
    c->terms[l] = c->sources[l] = 0;
    for (size_t i = 0; i < width; i++) {
      source x = p->st->sources[c->row[l] * width + i];
      c->x[i * COLUMNS + l] = source_value(p->r, x, c->sample[l]);
      c->terms[l] += x.step != PADDING;
      c->sources[l] += x.step < PADDING;
      c->terms_at[i] += x.step != PADDING;
      c->sources_at[i] += x.step < PADDING;
    }
  }
}

/* The feature that column l has at place j of its list. */
static size_t
feature_of(const product *p, const block *c, size_t j, size_t l)
{
  return p->order[p->start[c->row[l]] + j];
}

static void
fill_gradients(block *c, const product *p, const graph_value *w, const tensor *t)
{
  memset(c->h, 0, c->list * COLUMNS * sizeof *c->h);
  for (size_t j = 0; j < c->list; j++)
    for (size_t l = 0; l < c->n; l++)
      c->h[j * COLUMNS + l] = safe(record_entry(p->r, w, t, feature_of(p, c, j, l), c->sample[l])->d);
}

/* The next columns from `at` on, counted through the samples of a row, then the rows. False: there are no more. */
static bool
next_columns(block *c, const product *p, size_t *at)
{
  size_t batch = p->r->p->net->batch, row = *at / batch;
  bool other = *at == 0 || (*at % batch == 0 && !p->alike[row]);
  if (row == p->rows)
    return false;
  for (c->n = 0; c->n < COLUMNS && *at < p->rows * batch; c->n++, ++*at) {
    row = *at / batch;
    if (c->n > 0 && *at % batch == 0 && !p->alike[row])
      break;
    c->row[c->n] = row;
    c->sample[c->n] = *at % batch;
  }
  c->feature = &p->order[p->start[c->row[0]]];
  c->list = p->start[c->row[0] + 1] - p->start[c->row[0]];
  if (other)
    fill_weights(c, p);
  return true;
}

/* Rows of factors that no row of sources has more of, at most. */
static block
block_begin(const product *p)
{
  size_t width = p->st->width, list = 0;
  for (size_t k = 0; k < p->rows; k++)
    list = p->start[k + 1] - p->start[k] > list ? p->start[k + 1] - p->start[k] : list;
  size_t most = list > width ? list : width;
  return (block){.x = allocate(width * COLUMNS, sizeof(double)),
                 .h = allocate(list * COLUMNS, sizeof(double)),
                 .sum = allocate(most * COLUMNS, sizeof(double)),
                 .size = allocate(most * COLUMNS, sizeof(double)),
                 .terms_at = allocate(width, sizeof(size_t)),
                 .sources_at = allocate(width, sizeof(size_t))};
}

static void
block_end(const block *c)
{
  free(c->x);
  free(c->h);
  free(c->sum);
  free(c->size);
  free(c->w);
  free(c->turned);
  free(c->terms_at);
  free(c->sources_at);
}

/* c's sums become the product of a, which has so many rows, with x, which has n. */
static void
multiply(block *c, const double *a, size_t rows, const double *x, size_t n)
{
  memset(c->sum, 0, rows * COLUMNS * sizeof *c->sum);
  memset(c->size, 0, rows * COLUMNS * sizeof *c->size);
  for (size_t q = 0; q < n; q += TILE)
    add_rows(c->sum, c->size, a + q, n, rows, x + q * COLUMNS, n - q < TILE ? n - q : TILE);
}

/* ---- What is asked for */

filter *
product_forward(const record *r, const step *st)
{
  product p = product_begin(r, st);
  block c = block_begin(&p);
  filter *y = allocate(st->n * r->p->net->batch, sizeof *y);
  for (size_t at = 0; next_columns(&c, &p, &at);) {
    fill_columns(&c, &p);
    multiply(&c, c.w, c.list, c.x, st->width);
    for (size_t j = 0; j < c.list; j++)
      for (size_t l = 0; l < c.n; l++)
        y[feature_of(&p, &c, j, l) * r->p->net->batch + c.sample[l]] =
            (filter){c.sum[j * COLUMNS + l], c.size[j * COLUMNS + l], c.terms[l], c.sources[l] > 0, true};
  }
  block_end(&c);
  product_end(&p);
  return y;
}

static void
hand_back(filter *to, const product *p, const block *c, size_t s)
{
  size_t width = p->st->width;
  for (size_t l = 0; l < c->n; l++)
    for (size_t i = 0; i < width; i++) {
      source x = p->st->sources[c->row[l] * width + i];
      if (x.step != s)
        continue;
      filter of = {c->sum[i * COLUMNS + l], c->size[i * COLUMNS + l], c->list, c->list > 0, true};
      filter_join(&to[x.from * p->r->p->net->batch + c->sample[l]], &of, false);
    }
}

filter *
product_inputs(const record *r, const step *st, const graph_value *w, const tensor *t, size_t s)
{
  product p = product_begin(r, st);
  block c = block_begin(&p);
  filter *y = allocate(r->p->net->steps[s].n * r->p->net->batch, sizeof *y);
  for (size_t at = 0; next_columns(&c, &p, &at);) {
    fill_gradients(&c, &p, w, t);
    multiply(&c, c.turned, st->width, c.h, c.list);
    hand_back(y, &p, &c, s);
  }
  block_end(&c);
  product_end(&p);
  return y;
}

static void
add_weights(filter *to, const block *c, size_t j, size_t q, size_t n)
{
  add_dots(to + q, c->h + j * COLUMNS, c->x + q * COLUMNS, n);
  for (size_t i = q; i < q + n; i++) {
    to[i].terms += c->terms_at[i];
    to[i].rounds = to[i].rounds || c->sources_at[i] > 0;
    to[i].inexact = true;
  }
}

filter *
product_weights(const record *r, const step *st, const graph_value *w, const tensor *t)
{
  size_t width = st->width;
  product p = product_begin(r, st);
  block c = block_begin(&p);
  filter *y = allocate(st->n_factors, sizeof *y);
  for (size_t at = 0; next_columns(&c, &p, &at);) {
    fill_columns(&c, &p);
    fill_gradients(&c, &p, w, t);
    for (size_t q = 0; q < width; q += TILE)
      for (size_t j = 0; j < c.list; j++)
        add_weights(&y[st->factor_row[c.feature[j]] * width], &c, j, q, width - q < TILE ? width - q : TILE);
  }
  block_end(&c);
  product_end(&p);
  return y;
}
