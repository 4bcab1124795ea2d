/* How near each step of a gradient is to be: back from what its tensors ask for, by norms, and by the sizes that a pass over a few
 * samples has seen (docs/gradient.md). No bound rests on it. */
#include "network/derive/gradient/foretell.h"
#include "network/derive/gradient/plan_fixed.h"

#include "network/pass/analytic.h"
#include "network/derive/gradient/sliced.h"
#include "network/derive/gradient/softmax.h"
#include "network/pass/slices/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What one value, or gradient, may make of an error that a tensor bears; and of what that bears: what one step may. */
#define TENSOR_SHARE 4
#define SHARE 4
/* Plans are tried from so many bits less on, and up to so many more. */
#define COARSER 6
#define FINER 12
/* What is foretold is taken to err by no more bits than these. */
#define ERRING 12
/* A plan that is off by so many times as much as the nearest is as near. */
#define AS_NEAR 1.25

clarke_status
clarke_gradient_plan_init(clarke_gradient_plan *plan, const clarke_graph *g, clarke_error *err)
{
  plan->slices = calloc(g->n_steps + 1, sizeof *plan->slices);
  plan->back_slices = calloc(g->n_steps + 1, sizeof *plan->back_slices);
  plan->fine = calloc(g->n_values + 1, sizeof *plan->fine);
  plan->fine_back = calloc(g->n_values + 1, sizeof *plan->fine_back);
  plan->fixed = calloc(g->n_values + 1, sizeof *plan->fixed);
  plan->borne = calloc(g->n_values + 1, sizeof *plan->borne);
  return plan->slices != NULL && plan->back_slices != NULL && plan->fine != NULL && plan->fine_back != NULL &&
             plan->fixed != NULL && plan->borne != NULL
           ? CLARKE_OK
           : clarke_no_memory(err);
}

void
clarke_gradient_plan_clear(clarke_gradient_plan *plan)
{
  free(plan->slices);
  free(plan->back_slices);
  free(plan->fine);
  free(plan->fine_back);
  free(plan->fixed);
  free(plan->borne);
}

clarke_status
clarke_gradient_sizes_init(clarke_gradient_sizes *seen, const clarke_graph *g, clarke_error *err)
{
  double **const of_values[] = {&seen->value, &seen->grad, &seen->value_most, &seen->grad_most, &seen->value_entries,
                                 &seen->grad_entries};
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
clarke_gradient_sizes_clear(clarke_gradient_sizes *seen)
{
  free(seen->value);
  free(seen->grad);
  free(seen->value_most);
  free(seen->grad_most);
  free(seen->value_entries);
  free(seen->grad_entries);
  free(seen->by_value);
  free(seen->by_grad);
  free(seen->steepest);
}

static void
lower(double *to, double v)
{
  if (v < *to)
    *to = v;
}

/* --- a plan ------------------------------------------------------------------------------------ */

/* Gradients bear what those behind them do, on the way back; values what those before them do. The loss's gradient turns with
 * an output's error; and a normalization's derivative by twice that of its output. */
static void
spread(clarke_planning *q)
{
  const clarke_gradient_pass *p = q->few;
  const clarke_graph *g = p->g;

  for (size_t i = 0; i < g->n_steps; i++)
    for (size_t k = 0; k < g->steps[i].n_in && p->needed[g->steps[i].out]; k++)
      if (p->carries[g->steps[i].in[k].value])
        lower(&q->grad[g->steps[i].out], q->grad[g->steps[i].in[k].value] / clarke_planning_growth(q, i, k));
  if (q->turn > 0)
    lower(&q->value[g->output], q->grad[g->output] / q->turn);
  for (size_t i = g->n_steps; i-- > 0;) {
    const clarke_step *s = &g->steps[i];

    if (!p->needed[s->out])
      continue;
    if (s->kind == CLARKE_NORMALIZE && q->seen->grad[s->out] > 0)
      lower(&q->value[s->out], q->grad[s->in[0].value] * sqrt((double)clarke_step_group_size(s, p->n)) /
                                 (4 * q->seen->grad[s->out] * q->seen->steepest[i]));
    if (s->kind == CLARKE_ANALYTIC || s->kind == CLARKE_SOFTMAX)
      lower(&q->value[s->in[0].value],
            q->grad[s->in[0].value] / (4 * (s->kind == CLARKE_SOFTMAX ? clarke_softmax_bend(s) : clarke_analytic_bend(s->function)) *
                                       q->seen->grad[s->out]));
    for (size_t k = 0; k < s->n_in && s->kind == CLARKE_PRODUCT; k++)
      lower(&q->value[s->in[k].value], q->grad[s->in[1 - k].value] / (4 * q->seen->grad[s->out]));
    for (size_t k = 0; k < s->n_in; k++)
      if (!g->values[s->in[k].value].constant)
        lower(&q->value[s->in[k].value], q->value[s->out] / clarke_planning_growth(q, i, k));
  }
}

/* How many slices, of so many at most, a product of `inner` takes. */
static size_t
slices_for(bool *enough, const clarke_planning *q, size_t i, size_t inner, clarke_multiplied of, double borne, size_t limit)
{
  for (size_t k = 0; k <= limit; k++)
    if (clarke_planning_taken(q, i, k, inner, of) <= borne / SHARE)
      return k;
  *enough = false;
  return limit;
}

static bool
is_fine(double size, double borne)
{
  return size * CLARKE_DOUBLE_UNIT > borne / SHARE;
}

/* Plans a DENSE step, whose operand may be gathered. *in_pairs, *enough: false where there are too few slices forward, back. */
static void
plan_dense(clarke_planning *q, bool *in_pairs, bool *enough, size_t i)
{
  const clarke_gradient_pass *p = q->few;
  const clarke_step *s = &p->g->steps[i];
  double root;
  const size_t x = clarke_planning_source(&root, q, i);

  q->plan->slices[i] = slices_for(in_pairs, q, i, s->dense.inner, clarke_planning_value(q, x, root), q->value[s->out],
                                  CLARKE_GRADIENT_MOST);
  q->plan->back_slices[i] = 0;
  if (p->carries[x])
    q->plan->back_slices[i] = slices_for(enough, q, i, s->dense.outer, clarke_planning_grad(q, s->out), q->grad[s->in[0].value],
                                         q->plan->fixed[x] ? CLARKE_GRADIENT_MOST_FIXED : CLARKE_GRADIENT_MOST);
}

/* What is kept in pairs. */
static void
plan_pairs(clarke_planning *q)
{
  const clarke_graph *g = q->few->g;

  for (size_t v = 0; v < g->n_values; v++) {
    const size_t producer = g->values[v].producer;
    const bool dense = producer != CLARKE_NONE && g->steps[producer].kind == CLARKE_DENSE;

    q->plan->borne[v] = q->value[v];
    q->plan->fine[v] = dense ? q->plan->slices[producer] > 0 : is_fine(q->seen->value[v], q->value[v]);
    q->plan->fine_back[v] = is_fine(q->seen->grad[v], q->grad[v]);
  }
}

/* A plan by which each share, each value and each gradient makes a part of what is borne. */
static void
choose(clarke_planning *q, bool *enough, int bits, bool in_digits)
{
  const clarke_gradient_pass *p = q->few;
  bool in_pairs = true;

  for (size_t v = 0; v < p->g->n_values; v++)
    q->value[v] = q->grad[v] = INFINITY;
  for (size_t i = 0; i < q->n_shares; i++) {
    const clarke_share *c = &q->share[i];
    const double borne = ldexp(q->borne[c->parameter], -bits) / TENSOR_SHARE;

    lower(&q->grad[p->g->steps[c->step].out], borne / c->by_grad);
    if (c->x != CLARKE_NONE)
      lower(&q->value[c->x], borne / c->by_value);
  }
  spread(q);
  *enough = true;
  q->plan->in_digits = in_digits;
  clarke_plan_fixed(q, enough, in_digits);
  for (size_t i = 0; i < p->g->n_steps; i++)
    if (p->needed[p->g->steps[i].out] && p->g->steps[i].kind == CLARKE_DENSE)
      plan_dense(q, &in_pairs, enough, i);
  *enough = *enough && (in_pairs || in_digits);
  plan_pairs(q);
}

/* --- less where it is enough -------------------------------------------------------------------- */

/* The slices of a product, and what one of them costs. */
typedef struct {
  size_t *slices, step;
  double work;
} saving;

static int
by_work(const void *a, const void *b)
{
  const saving *x = a, *y = b;

  return x->work != y->work ? (x->work < y->work) - (x->work > y->work) : (x->slices > y->slices) - (x->slices < y->slices);
}

/* Gives a product so many slices; what is made of none is kept in doubles. */
static void
set_slices(const clarke_planning *q, const saving *of, size_t slices)
{
  *of->slices = slices;
  if (of->slices == q->plan->slices + of->step)
    q->plan->fine[q->few->g->steps[of->step].out] = slices > 0;
}

/* Takes slices from the products that cost most, as long as bounds are foretold to be near enough. */
static clarke_status
save_slices(clarke_planning *q, int bits)
{
  const clarke_graph *g = q->few->g;
  saving *all = malloc((2 * g->n_steps + 1) * sizeof *all);
  size_t n = 0;

  if (all == NULL)
    return clarke_no_memory(q->few->err);
  for (size_t i = 0; i < g->n_steps; i++) {
    const clarke_dense *d = &g->steps[i].dense;
    const double work = (double)(d->blocks * d->repeat) * (double)(d->outer * d->inner);

    if (g->steps[i].kind != CLARKE_DENSE || !q->few->needed[g->steps[i].out])
      continue;
    if (!q->plan->in_digits)
      all[n++] = (saving){q->plan->slices + i, i, work};
    all[n++] = (saving){q->plan->back_slices + i, i, work};
  }
  qsort(all, n, sizeof *all, by_work);
  for (size_t k = 0; k < n; k++)
    while (*all[k].slices > 0) {
      set_slices(q, &all[k], *all[k].slices - 1);
      if (clarke_plan_foretell(q, bits))
        continue;
      set_slices(q, &all[k], *all[k].slices + 1);
      break;
    }
  free(all);
  return CLARKE_OK;
}

/* The coarsest plan that is foretold to be no farther off than some part of what is borne. */
static void
choose_within(clarke_planning *q, bool *enough, int bits, bool in_digits, double farthest)
{
  int at = bits - COARSER;

  choose(q, enough, at, in_digits);
  while (*enough && at < bits + FINER && clarke_plan_farthest(q) > farthest)
    choose(q, enough, ++at, in_digits);
}

/* The coarsest plan that is foretold to be near enough. *found: is there one? */
static void
choose_coarsest(clarke_planning *q, bool *found, bool *enough, int bits, bool in_digits)
{
  int at = bits - COARSER;
  bool still = true;

  choose(q, enough, at, in_digits);
  while (*enough && still && at < bits + FINER && !clarke_plan_foretell(q, bits))
    choose(q, &still, ++at, in_digits);
  if (!still)
    choose(q, &still, --at, in_digits);
  *found = *enough && clarke_plan_foretell(q, bits);
}

void
clarke_gradient_plan_finest(clarke_gradient_plan *plan, const clarke_graph *g)
{
  plan->in_digits = false;
  for (size_t i = 0; i < g->n_steps; i++)
    plan->slices[i] = plan->back_slices[i] = CLARKE_GRADIENT_MOST;
  for (size_t v = 0; v < g->n_values; v++)
    plan->fine[v] = plan->fine_back[v] = true;
  memset(plan->fixed, 0, g->n_values * sizeof *plan->fixed);
}

/* Is the finest plan foretold to be farther off than foretelling errs by? */
static bool
is_hopeless(clarke_planning *q, int bits)
{
  clarke_gradient_plan_finest(q->plan, q->few->g);
  return !clarke_plan_foretell(q, bits - ERRING);
}

/* The pass in slices follows. Where the products of weights' gradients round too much for any plan, *enough becomes false, and the
 * coarsest is taken that is about as near as it gets. of_pairs: what the finest plan in pairs is foretold to be off by. */
static clarke_status
choose_in_digits(clarke_planning *q, bool *enough, int bits, double of_pairs)
{
  double of_digits;
  bool found;

  choose_coarsest(q, &found, enough, bits, true);
  if (found)
    return save_slices(q, bits);
  if (!*enough)
    return CLARKE_OK;
  of_digits = clarke_plan_farthest(q);
  choose_within(q, enough, bits, 2 * of_digits < of_pairs, AS_NEAR * (2 * of_digits < of_pairs ? of_digits : of_pairs));
  *enough = false;
  return CLARKE_OK;
}

/* In pairs, or where these are not near enough and the pass in slices follows, by that; and what can be saved. */
static clarke_status
choose_near(clarke_planning *q, bool *enough, int bits)
{
  bool found;

  choose_coarsest(q, &found, enough, bits, false);
  if (found)
    return save_slices(q, bits);
  if (clarke_slices_follow(q->few->g, q->few->needed))
    return choose_in_digits(q, enough, bits, *enough ? clarke_plan_farthest(q) : INFINITY);
  if (is_hopeless(q, bits))
    *enough = false;
  else
    choose_coarsest(q, &found, enough, bits, false);
  return CLARKE_OK;
}

clarke_status
clarke_gradient_plan_choose(clarke_gradient_plan *plan, bool *enough, const clarke_gradient_pass *few, int bits)
{
  clarke_planning q;
  clarke_status status = clarke_planning_init(&q, plan, few);

  if (status == CLARKE_OK)
    status = choose_near(&q, enough, bits);
  clarke_planning_clear(&q);
  return status;
}
