/* Which gradients a plan has in fixed point: those that pairs are too coarse for. */
#include "network/derive/gradient/plan_fixed.h"

#include <math.h>
#include <string.h>

/* Bits of room above the largest norm of a gradient that was seen. */
#define ROOM 28
/* An operation is to take so small a part of what a gradient bears. */
#define SHARE 64
#define FEWEST_LIMBS 3
/* Normalized values are below two to so many. */
#define NORMALIZED_TOP 40

/* The root of a value's numbers, of a lane. */
static double
root_of(const clarke_planning *q, size_t value)
{
  return sqrt((double)q->few->g->values[value].count * ceil(q->more * (double)q->few->n) / (double)q->few->lanes);
}

/* A step's operands are alike: where one is in fixed point all are. Steps before one that is not may be in it. */
static void
spread(clarke_planning *q)
{
  const clarke_gradient_pass *p = q->few;
  bool any = true;

  while (any) {
    any = false;
    for (size_t i = 0; i < p->g->n_steps; i++) {
      const clarke_step *s = &p->g->steps[i];
      bool fixed = false;

      for (size_t k = 0; k < s->n_in; k++)
        fixed = fixed || (q->plan->fixed[s->in[k].value] && p->carries[s->in[k].value]);
      for (size_t k = 0; k < s->n_in && fixed; k++) {
        any = any || (p->carries[s->in[k].value] && !q->plan->fixed[s->in[k].value]);
        q->plan->fixed[s->in[k].value] = q->plan->fixed[s->in[k].value] || p->carries[s->in[k].value];
      }
    }
  }
}

/* The bits that hold the largest gradient that is to be in fixed point. */
static int
find_top(const clarke_planning *q)
{
  const clarke_graph *g = q->few->g;
  int top = -500, here;

  for (size_t v = 0; v < g->n_values; v++)
    if (q->plan->fixed[v] && q->seen->grad[v] > 0) {
      frexp(q->seen->grad[v], &here);
      top = here > top ? here : top;
    }
  return top + ROOM;
}

/* The largest unit that takes little enough. */
static int
find_unit(const clarke_planning *q)
{
  const clarke_graph *g = q->few->g;
  double least = INFINITY;
  int unit = 0;

  for (size_t v = 0; v < g->n_values; v++)
    if (q->plan->fixed[v])
      least = fmin(least, q->grad[v] / (SHARE * root_of(q, v)));
  frexp(least, &unit);
  return unit - 1;
}

/* Are normalized values near enough, of the steps that are in fixed point? */
static bool
holds_normalized(const clarke_planning *q)
{
  const clarke_gradient_pass *p = q->few;

  for (size_t i = 0; i < p->g->n_steps; i++) {
    const clarke_step *s = &p->g->steps[i];

    if (s->kind == CLARKE_NORMALIZE && p->needed[s->out] && q->plan->fixed[s->in[0].value] &&
        ldexp(root_of(q, s->out), NORMALIZED_TOP - CLARKE_FIXED_LIMB * (int)q->plan->limbs) > q->value[s->out] / SHARE)
      return false;
  }
  return true;
}

void
clarke_plan_fixed(clarke_planning *q, bool *enough, bool asked)
{
  const clarke_gradient_pass *p = q->few;
  bool any = false;
  int top;

  memset(q->plan->fixed, 0, p->g->n_values * sizeof *q->plan->fixed);
  for (size_t v = 0; v < p->g->n_values && asked; v++) {
    q->plan->fixed[v] = p->carries[v] && p->needed[v] && p->deferred[v] == NULL &&
                        q->seen->grad[v] * CLARKE_PAIR_UNIT * 16 > q->grad[v] / SHARE;
    any = any || q->plan->fixed[v];
  }
  if (!any)
    return;
  spread(q);
  top = find_top(q);
  q->plan->limbs = FEWEST_LIMBS;
  while (q->plan->limbs < CLARKE_FIXED_LIMBS && (top - CLARKE_FIXED_LIMB * (int)q->plan->limbs > find_unit(q) || !holds_normalized(q)))
    q->plan->limbs++;
  q->plan->unit = top - CLARKE_FIXED_LIMB * (int)q->plan->limbs;
  *enough = *enough && q->plan->unit <= find_unit(q) && holds_normalized(q);
}

double
clarke_planning_rounded(const clarke_planning *q, size_t value, double operations, double size)
{
  if (q->plan->fixed[value])
    return ldexp(operations * root_of(q, value), q->plan->unit);
  return clarke_bound_gamma(operations, q->plan->fine_back[value] ? CLARKE_PAIR_UNIT : CLARKE_DOUBLE_UNIT) * size;
}
