/* AD's gradient in pairs of doubles: which steps are followed, and the pass from the inputs to the parameters. */
#include "network/derive/gradient.h"

#include "base/stop.h"
#include "network/derive/gradient/analytic.h"
#include "network/derive/gradient/plan.h"
#include "network/derive/reverse.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fewer bits of the finest pass do. */
#define LEAST_BITS 20
/* A pass is planned for some bits more, and a second for more still. */
#define SPARE_BITS 1
#define MORE_BITS 12
/* Samples that a plan is made by. */
#define LOOKED_AT ((size_t)4)

clarke_status
clarke_gradient_init(clarke_gradient *gradient, size_t n, clarke_error *err)
{
  *gradient = (clarke_gradient){.n = n};
  gradient->entry = calloc(n + 1, sizeof *gradient->entry);
  gradient->within = calloc(n + 1, sizeof *gradient->within);
  return gradient->entry != NULL && gradient->within != NULL ? CLARKE_OK : clarke_no_memory(err);
}

void
clarke_gradient_clear(clarke_gradient *gradient)
{
  for (size_t p = 0; gradient->entry != NULL && p < gradient->n; p++)
    free(gradient->entry[p]);
  free(gradient->entry);
  free(gradient->within);
  *gradient = (clarke_gradient){0};
}

/* --- what is followed ------------------------------------------------------------------------ */

static bool
are_lines(const clarke_graph *g, const clarke_step *s)
{
  for (size_t i = 0; i <= s->pieces.n_kinks; i++)
    if (mpq_sgn(s->pieces.coef[i][2]) != 0)
      return false;
  return s->pieces.slope == CLARKE_NONE || !clarke_value_is_wrt(g, s->pieces.slope);
}

/* A divisor in wrt, and a statistic below 0, have no rule. */
static bool
scales(const clarke_graph *g, const clarke_step *s)
{
  const size_t c = s->in[1].value;

  for (size_t e = 0; s->root && e < g->values[c].count; e++)
    if (!(g->values[c].real[e] >= 0))
      return false;
  return !((s->divide || s->root) && clarke_value_is_wrt(g, c)) && !g->values[s->in[0].value].constant;
}

/* Does AD give all of a touched window's gradient to the first of the largest? */
static bool
takes_first(const clarke_replay *r, size_t step, const clarke_profile *profile)
{
  const clarke_tie_rule *rule = clarke_profile_tie(profile, r->g->steps[step].op);
  bool touched = false;

  for (size_t k = 0; k < r->n_touches; k++)
    touched = touched || r->touch[k].step == step;
  return !touched || (rule != NULL && rule->known && rule->tie == CLARKE_TIE_FIRST && mpq_sgn(rule->beta) == 0);
}

static bool
is_followed(const clarke_replay *r, size_t i, const clarke_profile *profile)
{
  const clarke_graph *g = r->g;
  const clarke_step *s = &g->steps[i];

  switch (s->kind) {
  case CLARKE_GATHER:
    return s->in[0].coef == 1 && !g->values[s->in[0].value].constant;
  case CLARKE_SUM:
    return true;
  case CLARKE_SCALE:
    return scales(g, s);
  case CLARKE_DENSE: /* strides are the BLAS's integers */
    return s->dense.repeat * r->samples <= INT_MAX && s->dense.inner <= INT_MAX && s->dense.outer <= INT_MAX;
  case CLARKE_PIECEWISE:
    return are_lines(g, s);
  case CLARKE_MAX:
    return takes_first(r, i, profile);
  case CLARKE_ANALYTIC:
    return clarke_analytic_is_followed(s);
  case CLARKE_SOFTMAX:
    return s->in[0].map == NULL && s->in[0].coef == 1;
  case CLARKE_NORMALIZE:
  case CLARKE_PRODUCT:
    return true;
  default:
    return false;
  }
}

/* Every place of a step is known: inside a piece, or of a touch. */
static bool
places_known(const clarke_replay *r, size_t i)
{
  const size_t entries = r->g->values[r->g->steps[i].out].count * r->samples;
  size_t at = 0, touches = 0;

  if (!clarke_step_has_kinks(&r->g->steps[i]))
    return true;
  for (size_t e = 0; e < entries; e++)
    at += r->piece[i][e] < 0;
  for (size_t k = 0; k < r->n_touches; k++)
    touches += r->touch[k].step == i;
  return at == touches;
}

/* What the output is made of. */
static void
find_needed(bool *needed, const clarke_graph *g)
{
  memset(needed, 0, g->n_values * sizeof *needed);
  needed[g->output] = true;
  for (size_t i = g->n_steps; i-- > 0;)
    for (size_t k = 0; k < g->steps[i].n_in && needed[g->steps[i].out]; k++)
      needed[g->steps[i].in[k].value] = true;
}

clarke_status
clarke_gradient_serves(bool *serves, const clarke_replay *r, const clarke_profile *profile, clarke_error *err)
{
  bool *needed = malloc((r->g->n_values + 1) * sizeof *needed);

  *serves = true;
  if (needed == NULL)
    return clarke_no_memory(err);
  find_needed(needed, r->g);
  for (size_t i = 0; i < r->g->n_steps && *serves; i++)
    *serves = !needed[r->g->steps[i].out] || (is_followed(r, i, profile) && places_known(r, i));
  free(needed);
  return CLARKE_OK;
}

/* --- the pass -------------------------------------------------------------------------------- */

static void
pass_clear(clarke_gradient_pass *p)
{
  for (size_t v = 0; v < p->g->n_values; v++) {
    if (p->value != NULL)
      clarke_normed_drop(&p->value[v]);
    if (p->grad != NULL)
      clarke_normed_drop(&p->grad[v]);
  }
  free(p->needed);
  free(p->carries);
  free(p->last);
  free(p->kept);
  free(p->whole);
  free(p->deferred);
  for (size_t v = 0; p->low != NULL && v < p->g->n_parameters; v++)
    free(p->low[v]);
  free(p->low);
  free(p->value);
  free(p->grad);
  for (size_t i = 0; p->normalized != NULL && i < p->g->n_steps; i++) {
    free(p->normalized[i].factor);
    free(p->normalized[i].fixed);
  }
  free(p->normalized);
}

/* Does its derivative depend on its operands? */
static bool
reads_operands(const clarke_step *s)
{
  return s->kind == CLARKE_ANALYTIC || s->kind == CLARKE_PRODUCT || s->kind == CLARKE_SOFTMAX;
}

/* Which values are read on the way back: factors of what is in wrt, or of activations, what a slope is at, and normalized ones. Of factors
 * of a product's weight doubles are enough. */
static void
find_kept(clarke_gradient_pass *p)
{
  for (size_t i = 0; i < p->g->n_steps; i++) {
    const clarke_step *s = &p->g->steps[i];
    const size_t x = s->in[0].value;

    if (s->kind == CLARKE_NORMALIZE)
      p->whole[s->out] = true;
    for (size_t k = 0; k < s->n_in && reads_operands(s); k++)
      p->whole[s->in[k].value] = true;
    if (s->kind == CLARKE_SCALE && clarke_value_is_wrt(p->g, s->in[1].value))
      p->whole[x] = true;
    if (s->kind == CLARKE_DENSE && clarke_value_is_wrt(p->g, s->dense.weight))
      p->kept[p->deferred[x] != NULL ? p->deferred[x]->in[0].value : x] = true;
  }
  for (size_t v = 0; v < p->g->n_values; v++)
    p->kept[v] = p->kept[v] || p->whole[v];
  p->whole[p->g->output] = true;
}

static clarke_status
pass_init(clarke_gradient_pass *p, clarke_error *err)
{
  const size_t n = p->g->n_values + 1;

  p->needed = malloc(n * sizeof *p->needed);
  p->carries = malloc(n * sizeof *p->carries);
  p->last = malloc(n * sizeof *p->last);
  p->kept = calloc(n, sizeof *p->kept);
  p->whole = calloc(n, sizeof *p->whole);
  p->deferred = calloc(n, sizeof *p->deferred);
  p->value = calloc(n, sizeof *p->value);
  p->grad = calloc(n, sizeof *p->grad);
  p->low = calloc(p->g->n_parameters + 1, sizeof *p->low);
  p->normalized = calloc(p->g->n_steps + 1, sizeof *p->normalized);
  if (p->needed == NULL || p->carries == NULL || p->last == NULL || p->kept == NULL || p->whole == NULL || p->deferred == NULL ||
      p->value == NULL || p->grad == NULL || p->low == NULL || p->normalized == NULL)
    return clarke_no_memory(err);
  find_needed(p->needed, p->g);
  clarke_reverse_carriers(p->carries, p->g, CLARKE_NONE);
  clarke_graph_last_uses(p->last, p->g, p->needed);
  clarke_graph_defer_gathers(p->deferred, p->last, p->g);
  p->deferred[p->g->output] = NULL;
  find_kept(p);
  return CLARKE_OK;
}

static bool
all_finite(const double *v, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (!isfinite(v[i]))
      return false;
  return true;
}

/* --- how many slices ------------------------------------------------------------------------- */

/* Rounds the parameters' pairs to doubles. */
static void
round_entries(const clarke_gradient_pass *p)
{
  clarke_gradient *to = p->gradient;

  for (size_t i = 0; i < to->n; i++) {
    double most = 0;

    if (p->low[i] != NULL) /* a pair's high part is the nearest double of both */
      most = clarke_largest_double(p->low[i], p->g->parameters[i].count);
    to->within[i] = clarke_bound_up(to->within[i] + most);
  }
}

/* Is each parameter's bound at most 2^-bits of its largest entry (or of 2^-20 of the largest of all)? */
static clarke_status
is_near(bool *near, const clarke_gradient *gradient, const clarke_graph *g, int bits, clarke_error *err)
{
  double *largest = malloc((gradient->n + 1) * sizeof *largest), most = 0;

  if (largest == NULL)
    return clarke_no_memory(err);
  *near = true;
  for (size_t i = 0; i < gradient->n; i++) {
    largest[i] = clarke_gradient_largest(gradient, g, i);
    *near = *near && largest[i] <= DBL_MAX;
    most = fmax(most, largest[i]);
  }
  for (size_t i = 0; i < gradient->n; i++)
    *near = *near && gradient->within[i] <= ldexp(fmax(largest[i], 0x1p-20 * most), -bits) + 0x1p-800;
  free(largest);
  return CLARKE_OK;
}

static clarke_status
run(clarke_gradient_pass *p, bool *found, clarke_forward *outputs)
{
  const size_t out = p->g->output;
  clarke_status status = p->plan->in_digits ? clarke_gradient_pass_forward_in_digits(p) : clarke_gradient_pass_forward(p);

  if (status != CLARKE_OK || p->lost || !all_finite(p->value[out].at, p->g->values[out].count * p->n) ||
      (p->seen == NULL && !all_finite(p->value[out].error, p->lanes)))
    return status;
  status = clarke_gradient_pass_enclose(outputs, p);
  if (status == CLARKE_OK)
    status = clarke_gradient_pass_seed(p, outputs);
  if (status == CLARKE_EVAGUE) /* errors are too large for the loss to have a gradient that is known */
    return CLARKE_OK;
  if (status == CLARKE_OK)
    status = clarke_gradient_pass_back(p);
  if (status == CLARKE_OK)
    round_entries(p);
  *found = status == CLARKE_OK && !p->lost;
  return status;
}

/* What passes over one minibatch share. */
typedef struct {
  const clarke_replay *r;
  const clarke_profile *profile;
  const clarke_loss *loss;
  const clarke_growths *growths;
  int bits;
  clarke_error *err;
} passes;

static clarke_gradient_pass
pass_of(const passes *all, size_t n, const clarke_gradient_plan *plan, clarke_gradient_sizes *seen, clarke_gradient *gradient)
{
  return (clarke_gradient_pass){.r = all->r, .g = all->r->g, .profile = all->profile, .loss = all->loss, .n = n,
                          .lanes = clarke_graph_couples(all->r->g) ? 1 : n, .plan = plan, .seen = seen,
                          .in_pairs = all->bits < LEAST_BITS, .growths = all->growths, .gradient = gradient, .err = all->err};
}

/* A pass over all samples into a gradient that is empty. */
static clarke_status
run_planned(clarke_gradient *gradient, bool *found, clarke_forward *outputs, const passes *all, const clarke_gradient_plan *plan)
{
  clarke_gradient_pass p = pass_of(all, all->r->samples, plan, NULL, gradient);
  const size_t n = gradient->n;
  clarke_status status;

  *found = false;
  clarke_gradient_clear(gradient);
  clarke_forward_clear(outputs);
  clarke_work_begin("gradient", 2 * p.g->n_steps);
  status = clarke_gradient_init(gradient, n, all->err);
  if (status == CLARKE_OK)
    status = pass_init(&p, all->err);
  if (status == CLARKE_OK)
    status = run(&p, found, outputs);
  pass_clear(&p);
  return status;
}

/* A pass over a few samples, in doubles. */
static clarke_status
look(clarke_gradient_pass *few, bool *found)
{
  clarke_forward outputs;
  clarke_status status = pass_init(few, few->err);

  clarke_forward_init(&outputs);
  if (status == CLARKE_OK)
    status = run(few, found, &outputs);
  clarke_forward_clear(&outputs);
  return status;
}

/* Near enough, or as near as pairs get? Where it is not, *found becomes false. */
static clarke_status
find_useful(bool *found, const clarke_gradient *gradient, const passes *all, bool enough)
{
  return *found ? is_near(found, gradient, all->r->g, enough || all->bits < LEAST_BITS ? all->bits : LEAST_BITS, all->err)
                : CLARKE_OK;
}

/* A pass as near as it takes; where the plan was not near enough one more, and then the finest in pairs. few: a pass that has been
 * looked at. */
static clarke_status
run_until_near(clarke_gradient *gradient, bool *found, clarke_forward *outputs, const passes *all,
                   const clarke_gradient_pass *few, clarke_gradient_plan *plan)
{
  const int bits[] = {all->bits + SPARE_BITS, all->bits + SPARE_BITS + MORE_BITS};
  bool enough = true;
  clarke_status status = clarke_gradient_plan_choose(plan, &enough, few, LEAST_BITS);

  *found = false;
  if (status != CLARKE_OK || !enough)
    return status;
  for (size_t i = 0; i < sizeof bits / sizeof *bits && status == CLARKE_OK && !*found && enough; i++) {
    status = clarke_gradient_plan_choose(plan, &enough, few, bits[i]);
    if (status == CLARKE_OK)
      status = run_planned(gradient, found, outputs, all, plan);
    if (status == CLARKE_OK)
      status = find_useful(found, gradient, all, enough);
  }
  if (status == CLARKE_OK && !*found) {
    clarke_gradient_plan_finest(plan, all->r->g);
    status = run_planned(gradient, found, outputs, all, plan);
    if (status == CLARKE_OK)
      status = find_useful(found, gradient, all, false);
  }
  return status;
}

static clarke_status
plan_and_run(clarke_gradient *gradient, bool *found, clarke_forward *outputs, const passes *all)
{
  const clarke_graph *g = all->r->g;
  const size_t n = all->r->samples < LOOKED_AT ? all->r->samples : LOOKED_AT;
  clarke_gradient_sizes seen = {0};
  clarke_gradient_plan plain = {0}, plan = {0};
  clarke_gradient looked = {0};
  clarke_gradient_pass few = pass_of(all, n, &plain, &seen, &looked);
  clarke_status status = clarke_gradient_init(&looked, g->n_parameters, all->err);

  few.g = g;
  if (status == CLARKE_OK)
    status = clarke_gradient_sizes_init(&seen, g, all->err);
  if (status == CLARKE_OK)
    status = clarke_gradient_plan_init(&plain, g, all->err);
  if (status == CLARKE_OK)
    status = clarke_gradient_plan_init(&plan, g, all->err);
  if (status == CLARKE_OK)
    status = look(&few, found);
  if (status == CLARKE_OK && *found)
    status = run_until_near(gradient, found, outputs, all, &few, &plan);
  pass_clear(&few);
  clarke_gradient_clear(&looked);
  clarke_gradient_sizes_clear(&seen);
  clarke_gradient_plan_clear(&plain);
  clarke_gradient_plan_clear(&plan);
  return status;
}

clarke_status
clarke_gradient_run(clarke_gradient *gradient, bool *found, clarke_forward *outputs, const clarke_replay *r,
                    const clarke_profile *profile, const clarke_loss *loss, int bits, clarke_error *err)
{
  clarke_growths growths = {0};
  bool *needed = malloc((r->g->n_values + 1) * sizeof *needed);
  clarke_status status = needed != NULL ? CLARKE_OK : clarke_no_memory(err);

  *found = false;
  if (status == CLARKE_OK) {
    find_needed(needed, r->g);
    status = clarke_growths_add_scaled(&growths, r->g, needed, NULL, r->samples, err);
  }
  if (status == CLARKE_OK)
    status = plan_and_run(gradient, found, outputs, &(passes){r, profile, loss, &growths, bits, err});
  if (growths.g != NULL)
    clarke_growths_clear(&growths);
  free(needed);
  return status;
}
