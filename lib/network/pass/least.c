/* At least what activations are, whatever comes in: squares and their sums are not below 0, and above it where something is added. */
#include "network/pass/least.h"

#include "exact/upward.h"

#include <math.h>
#include <stdlib.h>

/* At least each entry of the operand, times its coefficient; 0 among them where there is padding. */
static double
of_operand(const clarke_graph *g, const double *least, const clarke_operand *o, size_t count)
{
  const clarke_value *v = &g->values[o->value];
  double most = INFINITY;

  if (!v->constant)
    most = o->coef == 1 ? least[o->value] : o->coef > 0 && least[o->value] >= 0 ? 0 : -INFINITY;
  for (size_t f = 0; f < count && (v->constant || o->map != NULL); f++) {
    const size_t e = clarke_operand_entry(o, f);

    if (e == CLARKE_NONE)
      most = fmin(most, 0);
    else if (v->constant)
      most = fmin(most, o->coef * v->real[e]);
  }
  return most;
}

static double
of_sum(const clarke_graph *g, const double *least, const clarke_step *s)
{
  double sum = 0;

  for (size_t k = 0; k < s->n_in; k++) {
    const double term = of_operand(g, least, &s->in[k], g->values[s->out].count), next = sum + term;

    sum = next - clarke_taken(2, fabs(sum) + fabs(term));
  }
  return isnan(sum) ? -INFINITY : sum;
}

static bool
all_positive(const clarke_value *v)
{
  for (size_t e = 0; e < v->count; e++)
    if (!(v->real[e] >= 0))
      return false;
  return true;
}

/* Is each product of the step a square? */
static bool
is_square(const clarke_graph *g, const clarke_step *s)
{
  bool square = s->in[0].value == s->in[1].value && s->in[0].coef == s->in[1].coef;

  for (size_t f = 0; square && f < g->values[s->out].count; f++)
    for (size_t k = 0; square && k < s->contraction.inner; k++)
      square = clarke_step_factor(s, 0, f, k) == clarke_step_factor(s, 1, f, k);
  return square;
}

/* The first piece is a number, and no piece falls. */
static double
of_pieces(const clarke_pieces *p)
{
  bool rises = p->slope == CLARKE_NONE && mpq_sgn(p->coef[0][1]) == 0;

  for (size_t i = 0; i <= p->n_kinks; i++)
    rises = rises && mpq_sgn(p->coef[i][2]) == 0 && mpq_sgn(p->coef[i][1]) >= 0;
  return rises && mpq_sgn(p->coef[0][0]) >= 0 ? 0 : -INFINITY;
}

static double
of_function(clarke_function function, double least)
{
  switch (function) {
  case CLARKE_SIGMOID:
  case CLARKE_EXP:
  case CLARKE_SOFTPLUS:
  case CLARKE_NORMAL:
  case CLARKE_NORMAL_TANH:
    return 0;
  case CLARKE_RECIPROCAL:
    return least > 0 ? 0 : -INFINITY;
  case CLARKE_SQRT:
    return least > 0 ? clarke_down_by(sqrt(least), 4) : -INFINITY;
  case CLARKE_HELD:
    return least;
  default:
    return -INFINITY;
  }
}

static double
of_step(const clarke_graph *g, const double *least, const clarke_step *s)
{
  const double first = s->n_in > 0 && !g->values[s->in[0].value].constant ? least[s->in[0].value] : -INFINITY;
  bool positive = first >= 0;

  switch (s->kind) {
  case CLARKE_GATHER:
    return of_operand(g, least, &s->in[0], g->values[s->out].count);
  case CLARKE_SUM:
    return of_sum(g, least, s);
  case CLARKE_SCALE: /* a root's reciprocal is above 0 */
    positive = positive && s->in[0].coef > 0 && s->in[1].coef > 0 && (s->root || all_positive(&g->values[s->in[1].value]));
    break;
  case CLARKE_DENSE:
    positive = positive && all_positive(&g->values[s->dense.weight]);
    break;
  case CLARKE_PIECEWISE:
    return of_pieces(&s->pieces);
  case CLARKE_ANALYTIC:
    return of_function(s->function, first);
  case CLARKE_SOFTMAX:
    return s->log ? -INFINITY : 0;
  case CLARKE_MAX:
    return first;
  case CLARKE_PRODUCT:
    positive = (positive && s->in[0].coef > 0 && s->in[1].coef > 0 && least[s->in[1].value] >= 0) || is_square(g, s);
    break;
  default:
    return -INFINITY;
  }
  return positive ? 0 : -INFINITY;
}

bool
clarke_least_is_inside(const clarke_graph *g)
{
  double *least = malloc((g->n_values + 1) * sizeof *least);
  bool inside = least != NULL;

  for (size_t v = 0; inside && v < g->n_values; v++)
    least[v] = -INFINITY;
  for (size_t i = 0; i < g->n_steps && inside; i++) {
    const clarke_step *s = &g->steps[i];

    least[s->out] = of_step(g, least, s);
    if (clarke_step_has_domain(s))
      inside = s->function == CLARKE_HELD || (!clarke_step_jumps(s) && least[s->in[0].value] > 0);
  }
  free(least);
  return inside;
}
