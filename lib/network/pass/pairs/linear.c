/* The other linear steps: entries that are moved, sums, multiples by constants; and products of activations. */
#include "network/pass/pairs/pairs.h"

#include "base/wide.h"
#include "network/pass/linear.h"

#include <stdlib.h>
#include <string.h>

clarke_status
clarke_pairs_gather(clarke_pairs_pass *f, const clarke_step *s)
{
  const clarke_enclosed *x = &f->value[s->in[0].value];
  clarke_enclosed *y = &f->value[s->out];
  clarke_status status;

  if (f->deferred[s->out] != NULL) {
    y->known = true;
    return CLARKE_OK;
  }
  status = clarke_enclosed_alloc(f, y, f->g->values[s->out].count);
  for (size_t i = 0, run; status == CLARKE_OK && i < y->rows; i += run) {
    const size_t from = clarke_operand_entry(&s->in[0], i);

    run = clarke_operand_run(&s->in[0], i, y->rows);
    for (size_t part = 0; part < 3; part++) {
      double *to = (part == 0 ? y->high : part == 1 ? y->low : y->off) + i * f->n;
      const double *in = part == 0 ? x->high : part == 1 ? x->low : x->off;

      if (from == CLARKE_NONE)
        memset(to, 0, run * f->n * sizeof *to);
      else
        memcpy(to, in + from * f->n, run * f->n * sizeof *to);
    }
  }
  return status;
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Entries of a sum at work, with what their bounds are made of. */
typedef struct {
  double *high, *low, *off, *lows;
} sum_row;

static inline void
add_term(const sum_row *r, size_t j, double coef, clarke_pair x, double off)
{
  const clarke_pairs_sum_of more = clarke_pairs_add_product(r->high[j], r->low[j], r->lows[j], coef, x.high, x.low);

  r->high[j] = more.high;
  r->low[j] = more.low;
  r->lows[j] = more.lows;
  r->off[j] += fabs(coef) * (off + CLARKE_PAIRS_BY_LOW * fabs(x.low));
}

/* The operand's share of entries from row i on, `run` rows, from entry `from` of it on. */
CLARKE_FUSED static void
add_run(const clarke_pairs_pass *f, const sum_row *r, const clarke_operand *o, size_t i, size_t from, size_t run)
{
  const clarke_value *v = &f->g->values[o->value];
  const clarke_enclosed *x = &f->value[o->value];

  if (v->constant)
    for (size_t k = 0; k < run; k++)
      for (size_t j = 0; j < f->n; j++)
        add_term(r, (i + k) * f->n + j, o->coef, (clarke_pair){v->real[from + k], 0}, 0);
  else
    for (size_t j = 0; j < run * f->n; j++)
      add_term(r, i * f->n + j, o->coef, clarke_enclosed_get(x, from * f->n + j), x->off[from * f->n + j]);
}

/* Is nothing multiplied? Then a sum whose second parts are all 0 is exact: an addition does not underflow, and leaves what it rounds. */
static bool
is_plain(const clarke_step *s)
{
  for (size_t k = 0; k < s->n_in; k++)
    if (fabs(s->in[k].coef) != 1)
      return false;
  return true;
}

/* As products are: W has a row for each entry, its operands' coefficients. */
clarke_status
clarke_pairs_sum(clarke_pairs_pass *f, const clarke_step *s)
{
  const double n = (double)s->n_in;
  clarke_enclosed *y = &f->value[s->out];
  const size_t entries = f->g->values[s->out].count * f->n;
  double *lows = calloc(entries + 1, sizeof *lows);
  clarke_status status = lows != NULL ? clarke_enclosed_alloc(f, y, f->g->values[s->out].count) : clarke_no_memory(f->err);
  const sum_row r = {y->high, y->low, y->off, lows};
  const bool plain = is_plain(s);

  if (status == CLARKE_OK)
    memset(y->high, 0, 3 * entries * sizeof *y->high);
  for (size_t k = 0; k < s->n_in && status == CLARKE_OK; k++)
    for (size_t i = 0, run; i < y->rows; i += run) {
      const size_t from = clarke_operand_entry(&s->in[k], i);

      run = clarke_operand_run(&s->in[k], i, y->rows);
      if (from != CLARKE_NONE)
        add_run(f, &r, &s->in[k], i, from, run);
    }
  for (size_t e = 0; e < entries && status == CLARKE_OK; e++)
    if (!plain || lows[e] != 0 || y->off[e] != 0 || !(fabs(y->high[e]) <= CLARKE_PAIRS_FAR))
      clarke_enclosed_put(y, e, clarke_two_sum(y->high[e], y->low[e]),
                          clarke_up_over(y->off[e] + CLARKE_PAIRS_BY_LOWS * lows[e], n + 8, n * CLARKE_PAIRS_LEAST));
  free(lows);
  return status;
}

/* --- multiples -------------------------------------------------------------------------------- */

/* x k rounded to a pair, and what that is off by, as it shows: the product of the low parts is left out, and four operations round. */
static inline clarke_pair
multiply(clarke_pair x, clarke_pair k, double *own)
{
  const clarke_pair p = clarke_two_product(x.high, k.high);
  const double a = x.high * k.low, b = x.low * k.high, c = a + b, l = p.low + c;

  *own = clarke_up_by(fabs(x.low * k.low) + CLARKE_UNIT * ((fabs(a) + fabs(b)) + (fabs(c) + fabs(l))), 8);
  return clarke_two_sum_fast(p.high, l);
}

/* A factor as it is multiplied by; at least its size; and what it is itself off by, at most, where it is not the constant. */
typedef struct {
  clarke_pair k;
  double size, apart;
} scale_factor;

/* k x of n entries, each off by a product's own rounding, and as much as the factor is. */
CLARKE_WIDE static void
scale_run(double *restrict to_high, double *restrict to_low, double *restrict to_off, const double *restrict high, const double *restrict low,
          const double *restrict off, scale_factor by, size_t n)
{
  for (size_t j = 0; j < n; j++) {
    double own, all;
    const clarke_pair v = multiply((clarke_pair){high[j], low[j]}, by.k, &own);

    all = own + (by.size * off[j] + by.apart * clarke_up_by(fabs(high[j]), 2));
    to_high[j] = v.high;
    to_low[j] = v.low;
    to_off[j] = fabs(v.high) <= CLARKE_PAIRS_FAR ? clarke_up_over(all, 0x1p10, CLARKE_PAIRS_LEAST) : (double)INFINITY;
  }
}

/* Rows from i on with one factor, which take entries one after another, or none. */
static size_t
rows_alike(const clarke_pair *factor, const clarke_operand *o, size_t i, size_t rows)
{
  const size_t run = clarke_operand_run(o, i, rows);
  size_t n = 1;

  while (n < run && factor[i + n].high == factor[i].high && factor[i + n].low == factor[i].low)
    n++;
  return n;
}

/* The unit goes to k, of which it leaves a normal number: of the least x it would leave nothing, which k may multiply. */
clarke_status
clarke_pairs_scale(clarke_pairs_pass *f, const clarke_step *s)
{
  const clarke_enclosed *x = &f->value[s->in[0].value];
  clarke_enclosed *y = &f->value[s->out];
  const double unit = s->root || s->divide ? CLARKE_PAIR_UNIT / 2 : 0;
  clarke_pair *factor;
  clarke_status status;

  if (s->in[1].coef != 1 || s->in[0].coef != 1) /* seldom, and not followed */
    return CLARKE_OK;
  factor = clarke_scale_factors(f->g, s);
  status = factor != NULL ? clarke_enclosed_alloc(f, y, f->g->values[s->out].count) : clarke_no_memory(f->err);
  for (size_t i = 0, run; i < y->rows && status == CLARKE_OK; i += run) {
    const size_t from = clarke_operand_entry(&s->in[0], i), e = i * f->n, in = from * f->n;
    const clarke_pair k = clarke_pairs_constant(factor[i]);
    const double size = clarke_up_by(fabs(k.high), 2);

    run = rows_alike(factor, &s->in[0], i, y->rows);
    if (from == CLARKE_NONE)
      for (size_t j = e; j < e + run * f->n; j++)
        y->high[j] = y->low[j] = y->off[j] = 0;
    else
      scale_run(y->high + e, y->low + e, y->off + e, x->high + in, x->low + in, x->off + in, (scale_factor){k, size, unit * size}, run * f->n);
  }
  free(factor);
  return status;
}

/* --- products of activations ------------------------------------------------------------------ */

/* Entries of a factor, side by side. */
#define MOST_ENTRIES ((size_t)256)
typedef struct {
  double high[MOST_ENTRIES], low[MOST_ENTRIES], off[MOST_ENTRIES];
} entries;

/* The product's entries at work: `rows` of them from `first` on, over some of the samples. */
typedef struct {
  const clarke_step *s;
  size_t first, rows, sample, samples;
} part;

/* The k-th entry of the operand that each of them takes. n: all samples. */
static void
gather_factor(entries *to, const part *of, const clarke_enclosed *x, size_t operand, size_t k, size_t n)
{
  const clarke_contraction *c = &of->s->contraction;
  size_t j = of->first % c->cols, i = of->first / c->cols % c->rows, b = of->first / c->cols / c->rows;

  for (size_t e = 0; e < of->rows; e++) {
    const size_t entry = operand == 0 ? (b * c->rows + i) * c->inner + k : (b * c->inner + k) * c->cols + j;
    const size_t from = clarke_operand_entry(&of->s->in[operand], entry) * n + of->sample;

    for (size_t l = 0; l < of->samples; l++) {
      to->high[e * of->samples + l] = x->high[from + l];
      to->low[e * of->samples + l] = x->low[from + l];
      to->off[e * of->samples + l] = x->off[from + l];
    }
    j = j + 1 < c->cols ? j + 1 : 0;
    i += j == 0;
    b += i == c->rows;
    i = i < c->rows ? i : 0;
  }
}

/* Products a c of n enclosures, and what they are off by: with factors off by p and q |a| q + p (|c| + q), and their own rounding. a becomes
 * the products. */
CLARKE_WIDE static void
multiply_entries(double *restrict high, double *restrict low, double *restrict off, const double *restrict c_high, const double *restrict c_low,
                 const double *restrict c_off, size_t n)
{
  for (size_t e = 0; e < n; e++) {
    const clarke_pair a = {high[e], low[e]}, c = {c_high[e], c_low[e]};
    const double p = off[e], q = c_off[e];
    double own;
    const clarke_pair product = multiply(a, c, &own);

    high[e] = product.high;
    low[e] = product.low;
    off[e] = own + (clarke_up_by(fabs(a.high), 2) * q + p * (clarke_up_by(fabs(c.high), 2) + q));
  }
}

/* Adds enclosures to sums: each addition is off by a unit of the sum. */
CLARKE_WIDE static void
add_entries(double *restrict high, double *restrict low, double *restrict off, const double *restrict by_high, const double *restrict by_low,
            const double *restrict by_off, size_t n)
{
  for (size_t e = 0; e < n; e++) {
    const clarke_pair sum = clarke_pair_add((clarke_pair){high[e], low[e]}, (clarke_pair){by_high[e], by_low[e]});

    high[e] = sum.high;
    low[e] = sum.low;
    off[e] = (off[e] + by_off[e]) + CLARKE_PAIR_UNIT * clarke_up_by(fabs(sum.high), 2);
  }
}

static void
contract_part(clarke_enclosed *y, const part *of, const clarke_enclosed *a, const clarke_enclosed *c, size_t n)
{
  const size_t count = of->rows * of->samples, inner = of->s->contraction.inner;
  entries sum, product, right;

  for (size_t k = 0; k < inner; k++) {
    entries *to = k == 0 ? &sum : &product;

    gather_factor(to, of, a, 0, k, n);
    gather_factor(&right, of, c, 1, k, n);
    multiply_entries(to->high, to->low, to->off, right.high, right.low, right.off, count);
    if (k > 0)
      add_entries(sum.high, sum.low, sum.off, product.high, product.low, product.off, count);
  }
  for (size_t e = 0; e < count; e++)
    clarke_enclosed_put(y, (of->first + e / of->samples) * n + of->sample + e % of->samples, (clarke_pair){sum.high[e], sum.low[e]},
                        clarke_up_over(sum.off[e], 4 * (double)inner + 16, 8 * (double)inner * CLARKE_PAIRS_LEAST));
}

clarke_status
clarke_pairs_contract(clarke_pairs_pass *f, const clarke_step *s)
{
  const clarke_enclosed *a = &f->value[s->in[0].value], *c = &f->value[s->in[1].value];
  const size_t samples = f->n < MOST_ENTRIES ? f->n : MOST_ENTRIES, rows = MOST_ENTRIES / samples;
  clarke_enclosed *y = &f->value[s->out];
  clarke_status status = CLARKE_OK;

  if (s->contraction.inner <= CLARKE_PAIRS_MOST_TERMS)
    status = clarke_enclosed_alloc(f, y, f->g->values[s->out].count);
  for (size_t i = 0; y->known && i < y->rows; i += rows)
    for (size_t j = 0; j < f->n; j += samples) {
      const part of = {s, i, y->rows - i < rows ? y->rows - i : rows, j, f->n - j < samples ? f->n - j : samples};

      contract_part(y, &of, a, c, f->n);
    }
  return status;
}
