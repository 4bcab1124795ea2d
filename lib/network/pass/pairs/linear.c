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

/* k x: a product's own rounding, and as much as the factor is off by, where it is not the constant itself. The unit goes to k, of which it leaves
 * a normal number: of the least x it would leave nothing, which k may multiply. */
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
  for (size_t i = 0; i < y->rows && status == CLARKE_OK; i++) {
    const size_t from = clarke_operand_entry(&s->in[0], i);
    const clarke_pair k = clarke_pairs_constant(factor[i]);
    const double size = clarke_up_by(fabs(k.high), 2), apart = unit * size;

    for (size_t j = 0; j < f->n; j++) {
      const size_t e = i * f->n + j, in = from * f->n + j;
      clarke_pair v;
      double own;

      if (from == CLARKE_NONE)
        y->high[e] = y->low[e] = y->off[e] = 0;
      if (from == CLARKE_NONE)
        continue;
      v = multiply(clarke_enclosed_get(x, in), k, &own);
      clarke_enclosed_put(y, e, v, own + (size * x->off[in] + apart * clarke_up_by(fabs(x->high[in]), 2)));
    }
  }
  free(factor);
  return status;
}

/* --- products of activations ------------------------------------------------------------------ */

/* A sum of products of enclosures; with factors off by p and q one is off by |a| q + p (|c| + q), and by its own rounding; and each addition by
 * a unit of the sum. */
typedef struct {
  clarke_pair sum;
  double off;
} product_sum;

static inline void
add_product(product_sum *r, bool first, clarke_pair a, clarke_pair c, double p, double q)
{
  double own;
  const clarke_pair product = multiply(a, c, &own);

  r->sum = first ? product : clarke_pair_add(r->sum, product);
  r->off += own + (clarke_up_by(fabs(a.high), 2) * q + p * (clarke_up_by(fabs(c.high), 2) + q));
  r->off += first ? 0 : CLARKE_PAIR_UNIT * clarke_up_by(fabs(r->sum.high), 2);
}

clarke_status
clarke_pairs_contract(clarke_pairs_pass *f, const clarke_step *s)
{
  const clarke_enclosed *a = &f->value[s->in[0].value], *c = &f->value[s->in[1].value];
  const double n = (double)s->contraction.inner;
  clarke_enclosed *y = &f->value[s->out];
  clarke_status status = CLARKE_OK;

  if (s->contraction.inner <= CLARKE_PAIRS_MOST_TERMS)
    status = clarke_enclosed_alloc(f, y, f->g->values[s->out].count);
  for (size_t i = 0; y->known && i < y->rows; i++)
    for (size_t j = 0; j < f->n; j++) {
      product_sum r = {0};

      for (size_t k = 0; k < s->contraction.inner; k++) {
        const size_t e = clarke_step_factor(s, 0, i, k) * f->n + j, g = clarke_step_factor(s, 1, i, k) * f->n + j;

        add_product(&r, k == 0, clarke_enclosed_get(a, e), clarke_enclosed_get(c, g), a->off[e], c->off[g]);
      }
      clarke_enclosed_put(y, i * f->n + j, r.sum, clarke_up_over(r.off, 4 * n + 16, 8 * n * CLARKE_PAIRS_LEAST));
    }
  return status;
}
