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

/* At least each entry of what a step hands on; `first`: at least those of its first operand, which is no constant. */
typedef double least_of(const clarke_graph *g, const double *least, const clarke_step *s, double first);

static double
gather_least(const clarke_graph *g, const double *least, const clarke_step *s, double first)
{
  (void)first;
  return of_operand(g, least, &s->in[0], g->values[s->out].count);
}

static double
sum_least(const clarke_graph *g, const double *least, const clarke_step *s, double first)
{
  (void)first;
  return of_sum(g, least, s);
}

/* A root's reciprocal is above 0. */
static double
scale_least(const clarke_graph *g, const double *least, const clarke_step *s, double first)
{
  (void)least;
  return first >= 0 && s->in[0].coef > 0 && s->in[1].coef > 0 && (s->root || all_positive(&g->values[s->in[1].value])) ? 0 : -INFINITY;
}

static double
dense_least(const clarke_graph *g, const double *least, const clarke_step *s, double first)
{
  (void)least;
  return first >= 0 && all_positive(&g->values[s->dense.weight]) ? 0 : -INFINITY;
}

static double
pieces_least(const clarke_graph *g, const double *least, const clarke_step *s, double first)
{
  (void)g, (void)least, (void)first;
  return of_pieces(&s->pieces);
}

static double
function_least(const clarke_graph *g, const double *least, const clarke_step *s, double first)
{
  (void)g, (void)least;
  return of_function(s->function, first);
}

static double
softmax_least(const clarke_graph *g, const double *least, const clarke_step *s, double first)
{
  (void)g, (void)least, (void)first;
  return s->log ? -INFINITY : 0;
}

static double
max_least(const clarke_graph *g, const double *least, const clarke_step *s, double first)
{
  (void)g, (void)least, (void)s;
  return first;
}

static double
product_least(const clarke_graph *g, const double *least, const clarke_step *s, double first)
{
  return (first >= 0 && s->in[0].coef > 0 && s->in[1].coef > 0 && least[s->in[1].value] >= 0) || is_square(g, s) ? 0 : -INFINITY;
}

static least_of *const of_kind[CLARKE_STEP_KINDS] = {
  [CLARKE_GATHER] = gather_least,    [CLARKE_SUM] = sum_least,           [CLARKE_SCALE] = scale_least,     [CLARKE_DENSE] = dense_least,
  [CLARKE_PIECEWISE] = pieces_least, [CLARKE_ANALYTIC] = function_least, [CLARKE_SOFTMAX] = softmax_least, [CLARKE_MAX] = max_least,
  [CLARKE_PRODUCT] = product_least, /* a normalization's entries may be anything */
};

static double
of_step(const clarke_graph *g, const double *least, const clarke_step *s)
{
  const double first = s->n_in > 0 && !g->values[s->in[0].value].constant ? least[s->in[0].value] : -INFINITY;

  return of_kind[s->kind] != NULL ? of_kind[s->kind](g, least, s, first) : -INFINITY;
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
