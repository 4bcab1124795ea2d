/* Products by weights: sums whose errors are added beside them, columns by columns (docs/filter.md has the bounds). */
#include "network/pass/pairs/pairs.h"

#include "base/wide.h"

#include <stdlib.h>
#include <string.h>

/* Doubles of the columns gathered at a time, and columns at least and at most. */
#define PANEL ((size_t)1 << 14)
#define LEAST_COLUMNS ((size_t)32)
#define MOST_COLUMNS ((size_t)512)

/* Columns of a product's argument, `inner` rows each, with what their bounds are made of; and one row of sums. */
typedef struct {
  double *high, *low, *size;
  double *sum, *sum_low, *sum_lows, *sum_size;
} panel;

/* A column is a place of a block, all samples side by side. Where a weight is one for all blocks their places are one behind another. */
typedef struct {
  const clarke_dense *d;
  const clarke_operand *map; /* NULL: the argument's own entries */
  const clarke_enclosed *x;
  double *size; /* of the argument's entries: the bound, and the product's own */
  size_t n;
} columns;

static clarke_status
panel_alloc(panel *p, size_t inner, size_t entries, clarke_error *err)
{
  p->high = malloc(((3 * inner + 4) * entries + 1) * sizeof *p->high);
  if (p->high == NULL)
    return clarke_no_memory(err);
  p->low = p->high + inner * entries;
  p->size = p->low + inner * entries;
  p->sum = p->size + inner * entries;
  p->sum_low = p->sum + entries;
  p->sum_lows = p->sum_low + entries;
  p->sum_size = p->sum_lows + entries;
  return CLARKE_OK;
}

/* `count` entries of the panel, from `to` on, as those of the argument from `from` on; zeros where there is padding. */
static void
copy_run(const panel *p, const columns *c, size_t to, size_t from, size_t count)
{
  if (from == CLARKE_NONE) {
    memset(p->high + to, 0, count * sizeof *p->high);
    memset(p->low + to, 0, count * sizeof *p->low);
    memset(p->size + to, 0, count * sizeof *p->size);
    return;
  }
  memcpy(p->high + to, c->x->high + from * c->n, count * sizeof *p->high);
  memcpy(p->low + to, c->x->low + from * c->n, count * sizeof *p->low);
  memcpy(p->size + to, c->size + from * c->n, count * sizeof *p->size);
}

/* Columns first to first + count, from block b on. */
static void
gather(const panel *p, const columns *c, size_t b, size_t first, size_t count)
{
  const clarke_dense *d = c->d;

  for (size_t i = 0; i < d->inner; i++)
    for (size_t k = 0, run; k < count; k += run) {
      const size_t block = b + (first + k) / d->repeat, place = (first + k) % d->repeat;
      const size_t row = (block * d->inner + i) * d->repeat + place;

      run = d->repeat - place < count - k ? d->repeat - place : count - k;
      if (c->map != NULL)
        run = clarke_operand_run(c->map, row, row + run);
      copy_run(p, c, (i * count + k) * c->n, c->map != NULL ? clarke_operand_entry(c->map, row) : row, run * c->n);
    }
}

/* Rows of the panel that a row of sums takes at a time: each sum is read and written once for all of them. */
#define AT_ONCE 4

/* So many products more in each of a row of sums, one after another: of weights that are no 0, and of the panel's rows `of`. */
static inline void
add_products(const panel *p, double *restrict sum, double *restrict sum_low, double *restrict lows, double *restrict sum_size,
             const double *restrict w, const size_t *restrict of, size_t count, size_t n)
{
  for (size_t j = 0; j < n; j++) {
    clarke_pairs_sum_of r = {sum[j], sum_low[j], lows[j]};
    double size = sum_size[j];

    for (size_t k = 0; k < count; k++) {
      const size_t e = of[k] * n + j;

      r = clarke_pairs_add_product(r.high, r.low, r.lows, w[k], p->high[e], p->low[e]);
      size += fabs(w[k]) * p->size[e];
    }
    sum[j] = r.high;
    sum_low[j] = r.low;
    lows[j] = r.lows;
    sum_size[j] = size;
  }
}

/* A row of W times the panel. A weight of 0 takes nothing, whatever is not known of what it multiplies. */
CLARKE_FUSED static void
multiply_row(const panel *p, const double *w, size_t stride, size_t inner, size_t n)
{
  double weight[AT_ONCE];
  size_t of[AT_ONCE], held = 0;

  memset(p->sum, 0, n * sizeof *p->sum);
  memset(p->sum_low, 0, n * sizeof *p->sum_low);
  memset(p->sum_lows, 0, n * sizeof *p->sum_lows);
  memset(p->sum_size, 0, n * sizeof *p->sum_size);
  for (size_t i = 0; i < inner; i++) {
    if (w[i * stride] == 0)
      continue;
    weight[held] = w[i * stride];
    of[held++] = i;
    if (held == AT_ONCE) {
      add_products(p, p->sum, p->sum_low, p->sum_lows, p->sum_size, weight, of, AT_ONCE, n);
      held = 0;
    }
  }
  for (size_t k = 0; k < held; k++)
    add_products(p, p->sum, p->sum_low, p->sum_lows, p->sum_size, weight + k, of + k, 1, n);
}

/* Those sums, as entries of the output from `to` on. */
static void
store(clarke_enclosed *y, size_t to, const panel *p, size_t from, size_t count, double roundings)
{
  const double up = clarke_up_factor(roundings), least = roundings * CLARKE_PAIRS_LEAST;

  for (size_t k = 0; k < count; k++) {
    const clarke_pair sum = clarke_two_sum(p->sum[from + k], p->sum_low[from + k]);

    y->high[to + k] = sum.high;
    y->low[to + k] = sum.low;
    y->off[to + k] = fabs(sum.high) <= CLARKE_PAIRS_FAR
                       ? (p->sum_size[from + k] + CLARKE_PAIRS_BY_LOWS * p->sum_lows[from + k]) * up + least : (double)INFINITY;
  }
}

static void
multiply_columns(clarke_enclosed *y, const panel *p, const columns *c, const double *w, size_t b, size_t first, size_t count)
{
  const clarke_dense *d = c->d;

  for (size_t o = 0; o < d->outer; o++) {
    multiply_row(p, d->transposed ? w + o : w + o * d->inner, d->transposed ? d->outer : 1, d->inner, count * c->n);
    for (size_t k = 0, run; k < count; k += run) {
      const size_t block = b + (first + k) / d->repeat, place = (first + k) % d->repeat;

      run = d->repeat - place < count - k ? d->repeat - place : count - k;
      store(y, ((block * d->outer + o) * d->repeat + place) * c->n, p, k * c->n, run * c->n, (double)(d->inner + 8));
    }
  }
}

/* How many columns are gathered at a time. */
static size_t
some_columns(const columns *c, size_t all)
{
  const size_t least = LEAST_COLUMNS / c->n + 1, most = MOST_COLUMNS / c->n + 1;
  size_t some = PANEL / (c->d->inner * c->n + 1);

  some = some < least ? least : some > most ? most : some;
  return some < all ? some : all;
}

clarke_status
clarke_pairs_dense(clarke_pairs_pass *f, const clarke_step *s)
{
  const clarke_dense *d = &s->dense;
  const clarke_step *gathered = f->deferred[s->in[0].value];
  const clarke_enclosed *x = &f->value[gathered != NULL ? gathered->in[0].value : s->in[0].value];
  const double *w = f->g->values[d->weight].real;
  const size_t entries = x->rows * f->n, all = (d->grouped ? 1 : d->blocks) * d->repeat;
  columns c = {.d = d, .map = gathered != NULL ? &gathered->in[0] : NULL, .x = x, .n = f->n};
  const size_t some = some_columns(&c, all);
  panel p = {0};
  clarke_status status = d->inner <= CLARKE_PAIRS_MOST_TERMS ? clarke_enclosed_alloc(f, &f->value[s->out], d->blocks * d->outer * d->repeat) : CLARKE_OK;

  if (status != CLARKE_OK || d->inner > CLARKE_PAIRS_MOST_TERMS)
    return status;
  c.size = malloc((entries + 1) * sizeof *c.size);
  status = c.size != NULL ? panel_alloc(&p, d->inner, some * f->n, f->err) : clarke_no_memory(f->err);
  for (size_t e = 0; e < entries && status == CLARKE_OK; e++)
    c.size[e] = clarke_up_over(x->off[e] + CLARKE_PAIRS_BY_LOW * fabs(x->low[e]), 4, CLARKE_PAIRS_LEAST);
  for (size_t b = 0; b < (d->grouped ? d->blocks : 1) && status == CLARKE_OK; b++)
    for (size_t first = 0; first < all; first += some) {
      const size_t count = all - first < some ? all - first : some;

      gather(&p, &c, b, first, count);
      multiply_columns(&f->value[s->out], &p, &c, w + (d->grouped ? b * d->outer * d->inner : 0), b, first, count);
    }
  free(c.size);
  free(p.high);
  return status;
}
