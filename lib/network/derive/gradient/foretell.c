/* The bounds that a plan will lead to: the pass's own rules for errors, with the sizes that a look at a few samples has seen. */
#include "network/derive/gradient/foretell.h"
#include "network/derive/gradient/plan_fixed.h"

#include "network/pass/analytic.h"
#include "network/derive/gradient/sliced.h"
#include "network/derive/gradient/softmax.h"

#include <math.h>
#include <string.h>

/* What operations on a value take, by whether it is kept in pairs: so many of them. */
static double
rounding(bool fine, double operations)
{
  return clarke_bound_gamma(operations, fine ? CLARKE_PAIR_UNIT : CLARKE_DOUBLE_UNIT);
}

/* The error of a step's output on the way forward. */
static double
forward_error(const clarke_planning *q, size_t i)
{
  const clarke_gradient_pass *p = q->few;
  const clarke_step *s = &p->g->steps[i];
  const bool fine = q->plan->fine[s->out];
  double error = 0, root;

  if (s->kind == CLARKE_DENSE) {
    const size_t x = clarke_planning_source(&root, q, i);

    return clarke_planning_growth(q, i, 0) * q->value[x] +
           clarke_planning_taken(q, i, q->plan->slices[i], s->dense.inner, clarke_planning_value(q, x, root));
  }
  if (s->kind == CLARKE_NORMALIZE) /* its mean is rounded by a part of sizes, and its sizes are the root of so many */
    return clarke_planning_growth(q, i, 0) * (q->value[s->in[0].value] + rounding(true, 48) * q->seen->value[s->in[0].value]) +
           rounding(fine, 32) * q->seen->value[s->out];
  for (size_t k = 0; k < s->n_in; k++)
    if (!p->g->values[s->in[k].value].constant)
      error += clarke_planning_growth(q, i, k) * (q->value[s->in[k].value] +
                                                  rounding(fine, 2 * (double)s->n_in + 4) * q->seen->value[s->in[k].value]);
  return error;
}

/* By how much a step's derivative is off, and what is rounded on the way back, relative to its output's gradient. */
static double
turned_by(const clarke_planning *q, size_t i)
{
  const clarke_gradient_pass *p = q->few;
  const clarke_step *s = &p->g->steps[i];
  const double steep = q->seen->steepest[i], m = s->kind == CLARKE_NORMALIZE ? (double)clarke_step_group_size(s, p->n) : 1;

  if (s->kind == CLARKE_ANALYTIC)
    return clarke_analytic_bend(s->function) * q->value[s->in[0].value];
  if (s->kind == CLARKE_SOFTMAX)
    return clarke_softmax_bend(s) * q->value[s->in[0].value];
  if (s->kind == CLARKE_PRODUCT)
    return q->value[s->in[0].value] + q->value[s->in[1].value];
  return s->kind == CLARKE_NORMALIZE
           ? steep * (steep * q->value[s->in[0].value] + 2 * q->value[s->out]) / sqrt(m) +
               (q->plan->fixed[s->in[0].value] ? 0 : 4 * steep * rounding(true, 16))
           : 0;
}

/* The errors of its operands' gradients grow. */
static void
send_back(const clarke_planning *q, size_t i)
{
  const clarke_gradient_pass *p = q->few;
  const clarke_step *s = &p->g->steps[i];
  const double size = q->seen->grad[s->out], error = q->grad[s->out];
  double root;

  if (s->kind == CLARKE_DENSE) {
    const size_t x = clarke_planning_source(&root, q, i);
    const double mass = root * p->growths->growth[i][0].norm;

    if (p->carries[x])
      q->grad[x] += clarke_planning_growth(q, i, 0) * error + clarke_planning_rounded(q, x, root * root + 1, mass * size) +
                    root * clarke_planning_taken(q, i, q->plan->back_slices[i], s->dense.outer, clarke_planning_grad(q, s->out));
    return;
  }
  for (size_t k = 0; k < s->n_in; k++) {
    const size_t x = s->in[k].value;

    if (p->carries[x])
      q->grad[x] += clarke_planning_growth(q, i, k) * (error + clarke_planning_rounded(q, x, 4, size)) + turned_by(q, i) * size;
  }
}

static void
find_errors(clarke_planning *q)
{
  const clarke_gradient_pass *p = q->few;
  const clarke_graph *g = p->g;

  memset(q->grad, 0, g->n_values * sizeof *q->grad);
  for (size_t v = 0; v < g->n_values; v++)
    q->value[v] = q->plan->in_digits && isfinite(q->plan->borne[v]) ? q->plan->borne[v] : 0;
  for (size_t i = 0; i < g->n_steps && !q->plan->in_digits; i++)
    if (p->needed[g->steps[i].out] && p->deferred[g->steps[i].out] == NULL)
      q->value[g->steps[i].out] = forward_error(q, i);
  q->grad[g->output] = clarke_planning_rounded(q, g->output, 1, q->seen->grad[g->output]);
  q->grad[g->output] += q->turn * q->value[g->output];
  for (size_t i = g->n_steps; i-- > 0;)
    if (p->needed[g->steps[i].out] && p->deferred[g->steps[i].out] == NULL && p->carries[g->steps[i].out])
      send_back(q, i);
}

/* What adding up takes: products in doubles, and sums of pairs. */
static double
added_up(const clarke_planning *q, const clarke_share *c)
{
  if (c->x == CLARKE_NONE)
    return clarke_bound_gamma((double)q->few->r->samples, CLARKE_PAIR_UNIT);
  return q->few->g->steps[c->step].kind == CLARKE_DENSE ? clarke_rounded_gamma(c->length)
                                                        : clarke_bound_gamma(c->length, CLARKE_PAIR_UNIT);
}

double
clarke_plan_farthest(clarke_planning *q)
{
  const clarke_gradient_pass *p = q->few;
  double farthest = 0;

  find_errors(q);
  memset(q->off, 0, p->g->n_parameters * sizeof *q->off);
  for (size_t i = 0; i < q->n_shares; i++) {
    const clarke_share *c = &q->share[i];
    const size_t out = p->g->steps[c->step].out;

    q->off[c->parameter] += c->by_grad * (q->grad[out] + added_up(q, c) * q->seen->grad[out]) +
                            (c->x != CLARKE_NONE ? c->by_value * q->value[c->x] : 0);
  }
  for (size_t i = 0; i < p->g->n_parameters; i++)
    if (q->borne[i] > 0 && !(q->off[i] <= farthest * q->borne[i]))
      farthest = isnan(q->off[i]) ? INFINITY : q->off[i] / q->borne[i];
  return farthest;
}

bool
clarke_plan_foretell(clarke_planning *q, int bits)
{
  return clarke_plan_farthest(q) <= ldexp(1, -bits);
}
