/* Steps back in fixed point. */
#include "network/derive/gradient/back_fixed.h"

#include "network/pass/piecewise.h"
#include "network/derive/slopes.h"

#include <stdlib.h>
#include <string.h>

double
clarke_fixed_units(const clarke_gradient_pass *p, size_t value)
{
  return clarke_bound_up(ldexp(sqrt((double)p->g->values[value].count) * clarke_lane_root(p), p->plan->unit));
}

bool
clarke_step_is_fixed(const clarke_gradient_pass *p, const clarke_step *s)
{
  for (size_t k = 0; k < s->n_in; k++) {
    const clarke_step *gather = p->deferred[s->in[k].value];
    const size_t value = gather != NULL ? gather->in[0].value : s->in[k].value;

    if (p->carries[value] && clarke_is_fixed(p, value))
      return true;
  }
  return false;
}

/* Pairs in fixed point: each part is off by less than a unit. */
static clarke_status
to_fixed(clarke_gradient_pass *p, size_t value)
{
  clarke_normed *g = &p->grad[value];
  const size_t rows = p->g->values[value].count;
  clarke_status status = clarke_normed_fix(g, rows, p->n, p->plan->limbs, p->plan->unit, p->err);

  for (size_t e = 0; e < rows * p->n && status == CLARKE_OK && !p->lost; e++)
    p->lost = !clarke_fixed_add_double(&g->fixed, e, g->at[e]) ||
              (g->low != NULL && !clarke_fixed_add_double(&g->fixed, e, g->low[e]));
  for (size_t j = 0; j < p->lanes; j++)
    g->error[j] = clarke_bound_up(g->error[j] + 2 * clarke_fixed_units(p, value));
  return status;
}

clarke_status
clarke_fix_gradient(clarke_gradient_pass *p, const clarke_step *s)
{
  const bool fixed = clarke_step_is_fixed(p, s);
  clarke_normed *g = &p->grad[s->out];

  if (fixed == (g->fixed.limb != NULL))
    return CLARKE_OK;
  if (fixed)
    return to_fixed(p, s->out);
  free(g->fixed.limb);
  g->fixed.limb = NULL;
  for (size_t j = 0; j < p->lanes; j++) /* pairs are what is near them */
    g->error[j] = clarke_bound_up(g->error[j] + 8 * CLARKE_PAIR_UNIT * g->size[j]);
  return CLARKE_OK;
}

clarke_status
clarke_note_operand_fixed(clarke_gradient_pass *p, const clarke_step *s, double grow, double round, double units)
{
  return clarke_note_operand(p, s, &p->grad[s->out], grow, clarke_bound_up(round), clarke_bound_up(units * clarke_fixed_units(p, s->out)));
}

/* A row of n numbers of g, times the factor, joins one of an operand's gradient. */
static void
add_row(clarke_gradient_pass *p, clarke_normed *x, size_t to, const clarke_normed *g, size_t from, const clarke_fixed_factor *c)
{
  for (size_t j = 0; j < p->n && !p->lost; j++)
    p->lost = !clarke_fixed_add_multiple(clarke_fixed_at(&x->fixed, to + j), clarke_fixed_at(&g->fixed, from + j), p->plan->limbs,
                                         c, -(long)c->unit, false);
}

/* The same of a sign. */
static void
add_row_plainly(clarke_gradient_pass *p, clarke_normed *x, size_t to, const clarke_normed *g, size_t from, bool subtract)
{
  for (size_t j = 0; j < p->n && !p->lost; j++)
    p->lost = !clarke_fixed_add(clarke_fixed_at(&x->fixed, to + j), clarke_fixed_at(&g->fixed, from + j), p->plan->limbs,
                                subtract);
}

void
clarke_sum_operand_fixed(clarke_gradient_pass *p, const clarke_step *s, size_t k)
{
  const clarke_operand *o = &s->in[k];
  const clarke_normed *g = &p->grad[s->out];
  clarke_normed *x = &p->grad[o->value];
  clarke_fixed_factor c;

  clarke_fixed_factor_of_double(&c, o->coef, p->plan->limbs);
  for (size_t f = 0; f < p->g->values[s->out].count; f++) {
    const size_t e = clarke_operand_entry(o, f);

    if (e != CLARKE_NONE && fabs(o->coef) == 1)
      add_row_plainly(p, x, e * p->n, g, f * p->n, o->coef < 0);
    else if (e != CLARKE_NONE)
      add_row(p, x, e * p->n, g, f * p->n, &c);
  }
}

/* c, 1 / c or 1 / sqrt(c + epsilon). */
static void
factor_of(clarke_fixed_factor *to, const clarke_step *s, double c, size_t limbs)
{
  mpfr_t v;

  mpfr_init2(v, (mpfr_prec_t)(limbs + 1) * CLARKE_FIXED_LIMB);
  mpfr_set_d(v, c, MPFR_RNDN);
  if (s->root) {
    mpfr_add_q(v, v, s->epsilon, MPFR_RNDN);
    mpfr_rec_sqrt(v, v, MPFR_RNDN);
  } else if (s->divide)
    mpfr_ui_div(v, 1, v, MPFR_RNDN);
  clarke_fixed_factor_of(to, v, limbs);
  mpfr_clear(v);
}

clarke_status
clarke_scale_back_fixed(clarke_gradient_pass *p, const clarke_step *s)
{
  const double grow = p->growths->growth[s - p->g->steps][0].norm;
  const double *c = p->g->values[s->in[1].value].real;
  clarke_normed *x = &p->grad[s->in[0].value];
  clarke_status status = clarke_note_operand_fixed(p, s, grow, 4 * clarke_fixed_part(p->plan->limbs) * grow, 1);
  clarke_fixed_factor factor;

  for (size_t f = 0; f < p->g->values[s->out].count && status == CLARKE_OK; f++) {
    const size_t e = clarke_operand_entry(&s->in[1], f);

    if (f == 0 || e != clarke_operand_entry(&s->in[1], f - 1))
      factor_of(&factor, s, c[e], p->plan->limbs);
    add_row(p, x, clarke_operand_entry(&s->in[0], f) * p->n, &p->grad[s->out], f * p->n, &factor);
  }
  return status;
}

static void
factor_of_rational(clarke_fixed_factor *to, const mpq_t q, size_t limbs)
{
  mpfr_t v;

  mpfr_init2(v, (mpfr_prec_t)(limbs + 1) * CLARKE_FIXED_LIMB);
  mpfr_set_q(v, q, MPFR_RNDN);
  clarke_fixed_factor_of(to, v, limbs);
  mpfr_clear(v);
}

/* What touched entries get: the profile's number. *steepest grows to theirs. */
static clarke_status
add_touched(clarke_gradient_pass *p, double *steepest, const clarke_step *s, bool add)
{
  const size_t step = (size_t)(s - p->g->steps);
  clarke_fixed_factor c;
  clarke_status status = CLARKE_OK;
  mpq_t q;

  mpq_init(q);
  for (size_t k = 0; k < p->r->n_touches && status == CLARKE_OK; k++) {
    const clarke_touch *t = &p->r->touch[k];
    const size_t e = t->feature * p->n + t->sample;

    if (t->step != step || t->sample >= p->n)
      continue;
    status = clarke_touch_proxy(q, p->g, t, p->profile, p->err);
    *steepest = fmax(*steepest, clarke_bound_up(fabs(mpq_get_d(q))));
    factor_of_rational(&c, q, p->plan->limbs);
    if (add && !p->lost)
      p->lost = !clarke_fixed_add_multiple(clarke_fixed_at(&p->grad[s->in[0].value].fixed, e),
                                           clarke_fixed_at(&p->grad[s->out].fixed, e), p->plan->limbs, &c, -(long)c.unit, false);
  }
  mpq_clear(q);
  return status;
}

/* Slopes of the step's pieces at a feature. */
static void
find_slopes(clarke_fixed_factor *slope, bool *plain, const clarke_graph *g, const clarke_step *s, size_t f, size_t limbs)
{
  const clarke_pieces *of = &s->pieces;

  for (size_t i = 0; i <= of->n_kinks; i++) {
    if (i == 0 && of->slope != CLARKE_NONE)
      clarke_fixed_factor_of_double(&slope[i], g->values[of->slope].real[of->slope_map != NULL ? of->slope_map[f] : f], limbs);
    else
      factor_of_rational(&slope[i], of->coef[i][1], limbs);
    plain[i] = !(i == 0 && of->slope != CLARKE_NONE) && mpq_cmp_ui(of->coef[i][1], 1, 1) == 0;
  }
}

clarke_status
clarke_piecewise_back_fixed(clarke_gradient_pass *p, const clarke_step *s)
{
  const clarke_branch *piece = p->r->piece[s - p->g->steps];
  const clarke_normed *g = &p->grad[s->out];
  const size_t limbs = p->plan->limbs;
  clarke_fixed_factor slope[CLARKE_MAX_KINKS + 1];
  bool plain[CLARKE_MAX_KINKS + 1];
  double steepest = clarke_piecewise_lipschitz(p->g, s);
  clarke_normed *x = &p->grad[s->in[0].value];
  clarke_status status = add_touched(p, &steepest, s, false);

  if (status == CLARKE_OK)
    status = clarke_note_operand_fixed(p, s, steepest, 4 * clarke_fixed_part(limbs) * steepest, 1);
  for (size_t f = 0; f < p->g->values[s->out].count && status == CLARKE_OK; f++) {
    if (f == 0 || s->pieces.slope != CLARKE_NONE)
      find_slopes(slope, plain, p->g, s, f, limbs);
    for (size_t j = 0, e = f * p->n; j < p->n && !p->lost; j++, e++) {
      const clarke_branch at = piece[f * p->r->samples + j];

      if (at >= 0 && plain[at])
        p->lost = !clarke_fixed_add(clarke_fixed_at(&x->fixed, e), clarke_fixed_at(&g->fixed, e), limbs, false);
      else if (at >= 0)
        p->lost = !clarke_fixed_add_multiple(clarke_fixed_at(&x->fixed, e), clarke_fixed_at(&g->fixed, e), limbs, &slope[at],
                                             -(long)slope[at].unit, false);
    }
  }
  return status == CLARKE_OK ? add_touched(p, &steepest, s, true) : status;
}

clarke_status
clarke_max_back_fixed(clarke_gradient_pass *p, const clarke_step *s)
{
  const size_t step = (size_t)(s - p->g->steps);
  size_t *from = clarke_winners(p, step);
  const clarke_normed *g = &p->grad[s->out];
  clarke_normed *x = &p->grad[s->in[0].value];
  clarke_status status = from != NULL ? clarke_note_operand_fixed(p, s, p->growths->growth[step][0].norm, 0, 0)
                                      : clarke_no_memory(p->err);

  for (size_t f = 0; f < p->g->values[s->out].count && status == CLARKE_OK; f++)
    for (size_t j = 0, e = f * p->n; j < p->n && !p->lost; j++, e++)
      p->lost = !clarke_fixed_add(clarke_fixed_at(&x->fixed, from[e] * p->n + j), clarke_fixed_at(&g->fixed, e), p->plan->limbs,
                                  false);
  free(from);
  return status;
}
