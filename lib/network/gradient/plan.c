/* How near each step of a gradient is to be: back from what its tensors ask for, by norms, and by the sizes that a pass over a few
 * samples has seen (docs/gradient.md). No bound rests on it. */
#include "network/gradient/plan.h"

#include "network/gradient/sliced.h"
#include "network/slices/plan.h"

#include <stdlib.h>

/* Of an error that a tensor bears: what one value, or gradient, may make; and of what that bears: what one step may. */
#define TENSOR_SHARE 4
#define SHARE 4
/* Of the tensors: one that is smaller than this part of the largest entry of all is borne with as one of that size. */
#define SMALLEST 0x1p-20

clarke_status
clarke_descent_plan_init(clarke_descent_plan *plan, const clarke_graph *g, clarke_error *err)
{
  plan->slices = calloc(g->n_steps + 1, sizeof *plan->slices);
  plan->back_slices = calloc(g->n_steps + 1, sizeof *plan->back_slices);
  plan->fine = calloc(g->n_values + 1, sizeof *plan->fine);
  plan->fine_back = calloc(g->n_values + 1, sizeof *plan->fine_back);
  plan->borne = calloc(g->n_values + 1, sizeof *plan->borne);
  return plan->slices != NULL && plan->back_slices != NULL && plan->fine != NULL && plan->fine_back != NULL &&
             plan->borne != NULL
           ? CLARKE_OK
           : clarke_no_memory(err);
}

void
clarke_descent_plan_clear(clarke_descent_plan *plan)
{
  free(plan->slices);
  free(plan->back_slices);
  free(plan->fine);
  free(plan->fine_back);
  free(plan->borne);
}

clarke_status
clarke_descent_sizes_init(clarke_descent_sizes *seen, const clarke_graph *g, clarke_error *err)
{
  double **const of_values[] = {&seen->value, &seen->grad, &seen->value_most, &seen->grad_most};
  double **const of_steps[] = {&seen->by_value, &seen->by_grad, &seen->steepest};
  bool all = true;

  for (size_t i = 0; i < sizeof of_values / sizeof *of_values; i++) {
    *of_values[i] = calloc(g->n_values + 1, sizeof **of_values[i]);
    all = all && *of_values[i] != NULL;
  }
  for (size_t i = 0; i < sizeof of_steps / sizeof *of_steps; i++) {
    *of_steps[i] = calloc(g->n_steps + 1, sizeof **of_steps[i]);
    all = all && *of_steps[i] != NULL;
  }
  return all ? CLARKE_OK : clarke_no_memory(err);
}

void
clarke_descent_sizes_clear(clarke_descent_sizes *seen)
{
  free(seen->value);
  free(seen->grad);
  free(seen->value_most);
  free(seen->grad_most);
  free(seen->by_value);
  free(seen->by_grad);
  free(seen->steepest);
}

/* A plan that is being made: the norms of errors that values and gradients bear, by lane. */
typedef struct {
  clarke_descent_plan *plan;
  const clarke_descent *few;
  const clarke_descent_sizes *seen;
  double more;   /* samples there are for each that was seen */
  double *value; /* n_values */
  double *grad;
} planning;

static void
lower(double *to, double v)
{
  if (v < *to)
    *to = v;
}

/* The error that an entry of a constant's gradient bears; infinity where it is not in wrt, or all that was seen of it is zero. */
static double
borne_by(const planning *q, size_t value, double most, int bits)
{
  const clarke_graph *g = q->few->g;
  double largest = 0;

  if (clarke_value_is_wrt(g, value))
    largest = clarke_gradient_largest(q->few->gradient, g, g->values[value].parameter);
  return largest > 0 ? ldexp(fmax(largest, SMALLEST * most), -bits) / (TENSOR_SHARE * sqrt(q->more)) : INFINITY;
}

/* What the constants of a step bear of its values, and of its output's gradient. */
static clarke_status
note_constants(planning *q, size_t i, double most, int bits)
{
  const clarke_descent *p = q->few;
  const clarke_step *s = &p->g->steps[i];
  const clarke_step *gather = p->deferred[s->in[0].value];
  const size_t x = gather != NULL ? gather->in[0].value : s->in[0].value;
  clarke_status status = CLARKE_OK;

  if (s->kind == CLARKE_DENSE || s->kind == CLARKE_SCALE) {
    const double borne = borne_by(q, s->kind == CLARKE_DENSE ? s->dense.weight : s->in[1].value, most, bits);

    lower(&q->grad[s->out], borne / q->seen->by_grad[i]);
    lower(&q->value[x], borne / q->seen->by_value[i]);
  }
  for (size_t k = 0; k < s->n_in && s->kind == CLARKE_SUM && status == CLARKE_OK; k++) {
    const double borne = borne_by(q, s->in[k].value, most, bits);
    size_t taken = 1;
    bool cancels = false;

    if (borne == INFINITY)
      continue;
    status = clarke_operand_cancels(&cancels, p->g, s, k, p->err);
    if (status != CLARKE_OK || cancels)
      continue;
    status = clarke_most_taken(&taken, p->g, s, s->in[k].value, p->err);
    lower(&q->grad[s->out], borne / (fabs(s->in[k].coef) * sqrt((double)taken) * (double)p->lanes * clarke_lane_root(p)));
  }
  return status;
}

static double
growth_of(const planning *q, size_t i, size_t k)
{
  const clarke_step *s = &q->few->g->steps[i];

  if (q->few->deferred[s->out] != NULL) /* what reads it has the growth of both */
    return 1;
  if (s->kind == CLARKE_DENSE)
    return clarke_dense_growth(q->few, s);
  return s->kind == CLARKE_NORMALIZE ? q->seen->steepest[i] : q->few->growths->growth[i][k].norm;
}

/* Gradients bear what those behind them do, on the way back; values what those before them do. The loss's gradient turns by less
 * than an output's error over the number of samples; and a normalization's derivative by twice that of its output. */
static void
spread(planning *q)
{
  const clarke_descent *p = q->few;
  const clarke_graph *g = p->g;

  for (size_t i = 0; i < g->n_steps; i++)
    for (size_t k = 0; k < g->steps[i].n_in && p->needed[g->steps[i].out]; k++)
      if (p->carries[g->steps[i].in[k].value])
        lower(&q->grad[g->steps[i].out], q->grad[g->steps[i].in[k].value] / growth_of(q, i, k));
  if (p->loss->kind != CLARKE_LOSS_SUM)
    lower(&q->value[g->output], q->grad[g->output] * (double)p->loss->samples);
  for (size_t i = g->n_steps; i-- > 0;) {
    const clarke_step *s = &g->steps[i];

    if (!p->needed[s->out])
      continue;
    if (s->kind == CLARKE_NORMALIZE && q->seen->grad[s->out] > 0)
      lower(&q->value[s->out], q->grad[s->in[0].value] * sqrt((double)clarke_step_group_size(s, p->n)) /
                                 (4 * q->seen->grad[s->out] * q->seen->steepest[i]));
    for (size_t k = 0; k < s->n_in; k++)
      if (!g->values[s->in[k].value].constant)
        lower(&q->value[s->in[k].value], q->value[s->out] / growth_of(q, i, k));
  }
}

/* How many slices a product of `inner` takes, of what has such a norm and such a largest entry. */
static size_t
slices_for(bool *enough, const planning *q, size_t i, size_t inner, double norm, double most, double borne)
{
  const clarke_dense *d = &q->few->g->steps[i].dense;
  const double columns = (double)(d->blocks * d->repeat * (q->few->n / q->few->lanes));
  const double rounded = clarke_rounded_gamma((double)inner) * q->few->growths->size[i];
  int top = 0;

  frexp(most, &top);
  for (size_t k = 0; k <= CLARKE_GRADIENT_MOST; k++)
    if (rounded * (k == 0 ? norm : fmin(norm, clarke_sliced_tail(top, k, (double)inner * columns))) <= borne / SHARE)
      return k;
  *enough = false;
  return CLARKE_GRADIENT_MOST;
}

static bool
is_fine(double size, double borne)
{
  return size * CLARKE_DOUBLE_UNIT > borne / SHARE;
}

/* Do pairs round a step's output by less than it bears? A mean is a sum of a group. */
static bool
is_within_pairs(const planning *q, size_t i)
{
  const clarke_step *s = &q->few->g->steps[i];
  const double m = s->kind == CLARKE_NORMALIZE ? (double)clarke_step_group_size(s, q->few->r->samples) : 1;

  return q->seen->value[s->out] * clarke_bound_gamma(2 * m + 8, CLARKE_PAIR_UNIT) <= q->value[s->out] / SHARE;
}

/* Of a DENSE step, whose operand may be gathered. */
static void
plan_dense(planning *q, bool *enough, size_t i)
{
  bool in_pairs = true;
  const clarke_descent *p = q->few;
  const clarke_step *s = &p->g->steps[i], *gather = p->deferred[s->in[0].value];
  const size_t x = gather != NULL ? gather->in[0].value : s->in[0].value;
  const double root = gather != NULL ? p->growths->growth[gather - p->g->steps][0].norm : 1;

  q->plan->slices[i] = slices_for(&in_pairs, q, i, s->dense.inner, root * q->seen->value[x], q->seen->value_most[x],
                                  q->value[s->out]);
  q->plan->in_digits = q->plan->in_digits || !in_pairs;
  if (p->carries[x])
    q->plan->back_slices[i] = slices_for(enough, q, i, s->dense.outer, q->seen->grad[s->out], q->seen->grad_most[s->out],
                                         q->grad[s->in[0].value]);
}

static clarke_status
choose(planning *q, bool *enough, int bits)
{
  const clarke_descent *p = q->few;
  double most = 0;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < p->g->n_parameters; i++)
    most = fmax(most, clarke_gradient_largest(p->gradient, p->g, i));
  for (size_t v = 0; v < p->g->n_values; v++)
    q->value[v] = q->grad[v] = INFINITY;
  for (size_t i = 0; i < p->g->n_steps && status == CLARKE_OK; i++)
    if (p->needed[p->g->steps[i].out])
      status = note_constants(q, i, most, bits);
  spread(q);
  *enough = true;
  q->plan->in_digits = false;
  for (size_t i = 0; i < p->g->n_steps; i++)
    if (p->needed[p->g->steps[i].out] && p->g->steps[i].kind == CLARKE_DENSE)
      plan_dense(q, enough, i);
  if (clarke_slices_follow(p->g, p->needed))
    for (size_t i = 0; i < p->g->n_steps; i++)
      q->plan->in_digits = q->plan->in_digits || (p->needed[p->g->steps[i].out] && !is_within_pairs(q, i));
  else if (q->plan->in_digits)
    *enough = q->plan->in_digits = false;
  for (size_t v = 0; v < p->g->n_values; v++) {
    const size_t producer = p->g->values[v].producer;
    const bool dense = producer != CLARKE_NONE && p->g->steps[producer].kind == CLARKE_DENSE;

    q->plan->borne[v] = q->value[v];
    q->plan->fine[v] = dense ? q->plan->slices[producer] > 0 : is_fine(q->seen->value[v], q->value[v]);
    q->plan->fine_back[v] = is_fine(q->seen->grad[v], q->grad[v]);
  }
  return status;
}

void
clarke_descent_plan_finest(clarke_descent_plan *plan, const clarke_graph *g)
{
  plan->in_digits = false;
  for (size_t i = 0; i < g->n_steps; i++)
    plan->slices[i] = plan->back_slices[i] = CLARKE_GRADIENT_MOST;
  for (size_t v = 0; v < g->n_values; v++)
    plan->fine[v] = plan->fine_back[v] = true;
}

clarke_status
clarke_descent_plan_choose(clarke_descent_plan *plan, bool *enough, const clarke_descent *few, int bits, clarke_error *err)
{
  planning q = {.plan = plan, .few = few, .seen = few->seen, .more = (double)few->r->samples / (double)few->n};
  clarke_status status;

  q.value = malloc((few->g->n_values + 1) * sizeof *q.value);
  q.grad = malloc((few->g->n_values + 1) * sizeof *q.grad);
  status = q.value != NULL && q.grad != NULL ? choose(&q, enough, bits) : clarke_no_memory(err);
  free(q.value);
  free(q.grad);
  return status;
}
