/* Reverse mode in pairs of doubles: from the output's gradient to all parameters (docs/gradient.md). */
#include "network/derive/gradient/analytic.h"
#include "network/derive/gradient/back_fixed.h"
#include "network/derive/gradient/constants.h"
#include "network/derive/gradient/product.h"
#include "network/derive/gradient/rows.h"
#include "network/derive/gradient/softmax.h"

#include "base/stop.h"
#include "network/derive/slopes.h"
#include "network/pass/linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

clarke_status
clarke_note_begin(clarke_gradient_pass *p, size_t value)
{
  clarke_normed *g = &p->grad[value];
  const size_t rows = p->g->values[value].count;
  clarke_status status = CLARKE_OK;

  if (g->at != NULL)
    return CLARKE_OK;
  status = clarke_normed_make(g, rows, p->n, clarke_is_fixed(p, value) || p->plan->fine_back[value], p->err);
  if (status == CLARKE_OK && clarke_is_fixed(p, value))
    status = clarke_normed_fix(g, rows, p->n, p->plan->limbs, p->plan->unit, p->err);
  return status;
}

void
clarke_note_term(clarke_gradient_pass *p, size_t value, const clarke_normed *from, double grow, double mass, double round,
                 double lost, size_t repeats)
{
  clarke_normed *to = &p->grad[value];
  const double gamma = clarke_bound_gamma((double)repeats + 1, clarke_unit_of(to));

  for (size_t j = 0; j < p->lanes; j++) {
    const double term = clarke_bound_up(mass * from->size[j] + lost);

    to->error[j] = clarke_bound_up(to->error[j] + grow * from->error[j] + round * from->size[j] + lost +
                                   gamma * (to->size[j] + term));
    to->size[j] = clarke_bound_up(to->size[j] + term);
  }
}

/* --- sums ------------------------------------------------------------------------------------ */

static bool
is_first_of_value(const clarke_step *s, size_t k)
{
  for (size_t l = 0; l < k; l++)
    if (s->in[l].value == s->in[k].value)
      return false;
  return true;
}

/* An operand's rows of gradients, times its coefficient, back to where it took them. */
static void
sum_operand(clarke_gradient_pass *p, const clarke_step *s, size_t k, const clarke_normed *g)
{
  const clarke_operand *o = &s->in[k];
  clarke_normed *x = &p->grad[o->value];

  for (size_t f = 0; f < p->g->values[s->out].count; f++) {
    const size_t e = clarke_operand_entry(o, f);

    if (e != CLARKE_NONE)
      clarke_normed_add_row(x, e * p->n, (clarke_pair){o->coef, 0}, g, f * p->n, p->n);
  }
}

/* The bounds of what a value gets from all operands that are it. */
static void
note_sum(clarke_gradient_pass *p, const clarke_step *s, size_t k, const clarke_normed *g, size_t repeats)
{
  const double grow = p->growths->growth[s - p->g->steps][k].norm;

  if (g->fixed.limb == NULL)
    clarke_note_term(p, s->in[k].value, g, grow, grow, CLARKE_PAIR_UNIT * grow, 0, repeats);
  else /* an entry loses a unit of each multiple that it is given */
    clarke_note_term(p, s->in[k].value, g, grow, grow, 4 * clarke_fixed_part(p->plan->limbs) * grow,
                     (double)repeats * clarke_fixed_units(p, s->in[k].value), repeats);
}

static clarke_status
sum_back(clarke_gradient_pass *p, const clarke_step *s)
{
  const clarke_normed *g = &p->grad[s->out];
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < s->n_in && status == CLARKE_OK; k++) {
    const size_t value = s->in[k].value;
    size_t repeats = 0;

    if (clarke_value_is_wrt(p->g, value))
      status = clarke_sum_constant(p, s, k, g);
    if (!p->carries[value])
      continue;
    if (status == CLARKE_OK && is_first_of_value(s, k)) { /* the growth is that of all its operands together */
      status = clarke_note_begin(p, value);
      if (status == CLARKE_OK)
        status = clarke_most_taken(&repeats, p->g, s, value, p->err);
      if (status == CLARKE_OK)
        note_sum(p, s, k, g, repeats);
    }
    if (status == CLARKE_OK && g->fixed.limb != NULL)
      clarke_sum_operand_fixed(p, s, k);
    else if (status == CLARKE_OK)
      sum_operand(p, s, k, g);
  }
  return status;
}

/* --- others ---------------------------------------------------------------------------------- */

clarke_status
clarke_note_operand(clarke_gradient_pass *p, const clarke_step *s, const clarke_normed *g, double grow, double round,
                    double lost)
{
  const size_t value = s->in[0].value;
  size_t repeats = 0;
  clarke_status status = clarke_note_begin(p, value);

  if (status == CLARKE_OK)
    status = clarke_most_taken(&repeats, p->g, s, value, p->err);
  if (status == CLARKE_OK)
    clarke_note_term(p, value, g, grow, clarke_bound_up(grow), round, clarke_bound_up(sqrt((double)repeats) * lost), repeats);
  return status;
}

static clarke_status
scale_back(clarke_gradient_pass *p, const clarke_step *s)
{
  const clarke_normed *g = &p->grad[s->out];
  const double grow = p->growths->growth[s - p->g->steps][0].norm;
  clarke_normed *x = &p->grad[s->in[0].value];
  clarke_pair *factor;
  clarke_status status = CLARKE_OK;

  if (clarke_value_is_wrt(p->g, s->in[1].value))
    status = clarke_scale_constant(p, s, g);
  if (status != CLARKE_OK || !p->carries[s->in[0].value])
    return status;
  if (g->fixed.limb != NULL)
    return clarke_scale_back_fixed(p, s);
  factor = clarke_scale_factors(p->g, s);
  status = factor != NULL ? clarke_note_operand(p, s, g, grow, 8 * CLARKE_PAIR_UNIT * grow, 0) : clarke_no_memory(p->err);
  for (size_t f = 0; f < p->g->values[s->out].count && status == CLARKE_OK; f++)
    clarke_normed_add_row(x, clarke_operand_entry(&s->in[0], f) * p->n, factor[f], g, f * p->n, p->n);
  free(factor);
  return status;
}

/* The profile's number at each touched kink of a step; *steepest grows to theirs. proxy: n_touches places. */
static clarke_status
find_proxies(clarke_pair *proxy, double *steepest, const clarke_gradient_pass *p, size_t step)
{
  clarke_status status = CLARKE_OK;
  mpq_t q;

  mpq_init(q);
  for (size_t k = 0; k < p->r->n_touches && status == CLARKE_OK; k++) {
    if (p->r->touch[k].step != step || p->r->touch[k].sample >= p->n)
      continue;
    status = clarke_touch_proxy(q, p->g, &p->r->touch[k], p->profile, p->err);
    proxy[k] = clarke_pair_of(q);
    *steepest = fmax(*steepest, clarke_bound_up(fabs(proxy[k].high)));
  }
  mpq_clear(q);
  return status;
}

/* Back through a step with one slope of 1 and others of 0, but for its kinks. */
static void
add_line_taken(const clarke_gradient_pass *p, const clarke_step *s, const clarke_normed *g, clarke_branch one)
{
  const clarke_branch *piece = p->r->piece[s - p->g->steps];
  const clarke_normed *x = &p->grad[s->in[0].value];

  for (size_t f = 0; f < p->g->values[s->out].count; f++) {
    const size_t at = f * p->n;

    if (x->low == NULL)
      clarke_rows_add_taken(x->at + at, g->at + at, piece + f * p->r->samples, one, p->n);
    else
      clarke_rows_add_taken_pairs(x->at + at, x->low + at, g->at + at, g->low + at, piece + f * p->r->samples, one, p->n);
  }
}

/* The same of any slopes. */
static void
add_slopes(const clarke_gradient_pass *p, const clarke_step *s, const clarke_normed *g, const clarke_lines *l)
{
  const clarke_branch *piece = p->r->piece[s - p->g->steps];
  clarke_normed *x = &p->grad[s->in[0].value];
  const bool plain = x->low == NULL && g->low == NULL;

  for (size_t f = 0; f < p->g->values[s->out].count; f++) {
    clarke_pair slope[CLARKE_MAX_KINKS + 1];

    for (size_t i = 0; i <= s->pieces.n_kinks; i++)
      slope[i] = clarke_line_slope(l, p->g, s, i, f);
    for (size_t j = 0, e = f * p->n; j < p->n; j++, e++) {
      const clarke_branch at = piece[f * p->r->samples + j];

      if (at >= 0 && plain)
        x->at[e] += slope[at].high * g->at[e];
      else if (at >= 0 && slope[at].high == 1 && slope[at].low == 0)
        clarke_normed_add(x, e, clarke_normed_get(g, e));
      else if (at >= 0 && slope[at].high != 0)
        clarke_normed_add(x, e, clarke_pair_multiply(slope[at], clarke_normed_get(g, e)));
    }
  }
}

static clarke_status
piecewise_back(clarke_gradient_pass *p, const clarke_step *s)
{
  const clarke_normed *g = &p->grad[s->out];
  clarke_lines l = clarke_lines_of(p->g, s);
  const size_t step = (size_t)(s - p->g->steps);
  clarke_normed *x = &p->grad[s->in[0].value];
  clarke_pair *proxy;
  clarke_status status;
  size_t one;

  if (!p->carries[s->in[0].value])
    return CLARKE_OK;
  if (g->fixed.limb != NULL)
    return clarke_piecewise_back_fixed(p, s);
  proxy = malloc((p->r->n_touches + 1) * sizeof *proxy);
  status = proxy != NULL ? find_proxies(proxy, &l.steepest, p, step) : clarke_no_memory(p->err);
  if (status == CLARKE_OK)
    status = clarke_note_operand(p, s, g, l.steepest, 8 * CLARKE_PAIR_UNIT * l.steepest, 0);
  one = clarke_line_taken(&l, s, true);
  if (status == CLARKE_OK && one != CLARKE_NONE && (x->low == NULL || g->low != NULL))
    add_line_taken(p, s, g, (clarke_branch)one);
  else if (status == CLARKE_OK)
    add_slopes(p, s, g, &l);
  for (size_t k = 0; k < p->r->n_touches && status == CLARKE_OK; k++) {
    const size_t e = p->r->touch[k].feature * p->n + p->r->touch[k].sample;

    if (p->r->touch[k].step == step && p->r->touch[k].sample < p->n)
      clarke_normed_add(x, e, clarke_pair_multiply(proxy[k], clarke_normed_get(g, e)));
  }
  free(proxy);
  return status;
}

static clarke_status
max_back(clarke_gradient_pass *p, const clarke_step *s)
{
  const clarke_normed *g = &p->grad[s->out];
  const size_t step = (size_t)(s - p->g->steps);
  clarke_normed *x = &p->grad[s->in[0].value];
  size_t *from;
  clarke_status status;

  if (!p->carries[s->in[0].value])
    return CLARKE_OK;
  if (g->fixed.limb != NULL)
    return clarke_max_back_fixed(p, s);
  from = clarke_winners(p, step);
  status = from != NULL ? clarke_note_operand(p, s, g, p->growths->growth[step][0].norm, 0, 0) : clarke_no_memory(p->err);
  for (size_t f = 0; f < p->g->values[s->out].count && status == CLARKE_OK; f++)
    for (size_t j = 0, e = f * p->n; j < p->n; j++, e++)
      clarke_normed_add(x, from[e] * p->n + j, clarke_normed_get(g, e));
  free(from);
  return status;
}

static clarke_status (*const of_kind[CLARKE_STEP_KINDS])(clarke_gradient_pass *p, const clarke_step *s) = {
  [CLARKE_GATHER] = sum_back, [CLARKE_SUM] = sum_back, [CLARKE_SCALE] = scale_back, [CLARKE_DENSE] = clarke_dense_back,
  [CLARKE_PIECEWISE] = piecewise_back, [CLARKE_MAX] = max_back, [CLARKE_NORMALIZE] = clarke_normalized_back,
  [CLARKE_ANALYTIC] = clarke_analytic_back, [CLARKE_PRODUCT] = clarke_product_back, [CLARKE_SOFTMAX] = clarke_softmax_back,
};

clarke_status
clarke_gradient_pass_back(clarke_gradient_pass *p)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = p->g->n_steps; i-- > 0 && status == CLARKE_OK;) {
    const clarke_step *s = &p->g->steps[i];

    clarke_work_done();
    if (p->grad[s->out].at == NULL)
      continue;
    status = clarke_work_check(p->err);
    clarke_normed_measure(&p->grad[s->out], p->g->values[s->out].count, p->n, p->lanes);
    if (p->seen != NULL) {
      p->seen->grad[s->out] = clarke_normed_size(p, &p->grad[s->out]);
      p->seen->grad_most[s->out] = p->grad[s->out].largest;
      p->seen->grad_entries[s->out] = clarke_normed_entries(&p->grad[s->out], p->g->values[s->out].count, p->n, p->lanes);
    }
    if (status == CLARKE_OK)
      status = clarke_fix_gradient(p, s);
    if (status == CLARKE_OK && !p->lost)
      status = of_kind[s->kind](p, s);
    clarke_normed_drop(&p->grad[s->out]);
    clarke_normed_drop(&p->value[s->out]);
  }
  return status;
}
