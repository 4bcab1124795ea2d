/* How far apart two profiles' exact gradients are. */
#include "session/sweep_inside.h"

#include "exact/upward.h"
#include "network/derive/reverse.h"
#include "network/derive/sink.h"

#include <math.h>
#include <stdlib.h>

static const clarke_proxy *
injected_at(const clarke_graph *g, const clarke_touch *t, const clarke_profile *profile)
{
  const clarke_step *s = &g->steps[t->step];

  return t->n_options > 0 ? NULL : clarke_profile_injected(profile, s->op, s->pieces.first_kink + t->kink);
}

/* At a kink: the slope, and what takes the gradient's place, where the slope is 0. */
static clarke_status
taken_at(mpq_t slope, mpq_t injected, const clarke_graph *g, const clarke_touch *t, const clarke_profile *profile, clarke_error *err)
{
  const clarke_proxy *in = injected_at(g, t, profile);

  mpq_set_ui(slope, 0, 1);
  mpq_set_ui(injected, 0, 1);
  if (in == NULL)
    return clarke_touch_proxy(slope, g, t, profile, err);
  mpq_set(injected, in->value);
  return CLARKE_OK;
}

/* Do the two take other numbers at the touch? */
static clarke_status
touch_parts(bool *parts, const clarke_audit_session *s, const clarke_touch *t, const clarke_profile *a, const clarke_profile *b,
            clarke_error *err)
{
  const clarke_op *op = s->graph.steps[t->step].op;
  const clarke_tie_rule *ra = clarke_profile_tie(a, op), *rb = clarke_profile_tie(b, op);
  clarke_status status;
  mpq_t x, y, u, v;

  if (t->n_options > 0) {
    status = clarke_tie_check(ra, a, op, err);
    if (status == CLARKE_OK)
      status = clarke_tie_check(rb, b, op, err);
    *parts = status == CLARKE_OK && (ra->tie != rb->tie || !mpq_equal(ra->beta, rb->beta));
    return status;
  }
  mpq_inits(x, y, u, v, NULL);
  status = taken_at(x, u, &s->graph, t, a, err);
  if (status == CLARKE_OK)
    status = taken_at(y, v, &s->graph, t, b, err);
  *parts = status == CLARKE_OK && (!mpq_equal(x, y) || !mpq_equal(u, v));
  mpq_clears(x, y, u, v, NULL);
  return status;
}

static bool
injects(const clarke_audit_session *s, const clarke_profile *profile)
{
  for (size_t k = 0; k < s->replay.n_touches; k++)
    if (injected_at(&s->graph, &s->replay.touch[k], profile) != NULL)
      return true;
  return false;
}

/* --- a gradient in whose place numbers are put ------------------------------------------------ */

typedef struct {
  const clarke_audit_session *s;
  const clarke_profile *profile;
  clarke_matrix *gradient;
  size_t times; /* the norms are multiplied by it later, and the numbers must not be */
} injection;

static clarke_status
receive(void *context, const clarke_forward *f, const clarke_step *step, size_t operand, const clarke_matrix *g, clarke_error *err)
{
  return clarke_gradient_sink(((injection *)context)->gradient, f, step, operand, g, err);
}

/* number (rows * cols): what touched kinks hand to the output of step i. Is it anything? */
static bool
collect(mpq_t *number, size_t cols, const injection *in, size_t i)
{
  const clarke_replay *r = &in->s->replay;
  const clarke_graph *g = &in->s->graph;
  bool any = false;
  mpq_t share;

  mpq_init(share);
  for (size_t k = 0; k < r->n_touches; k++) {
    const clarke_touch *t = &r->touch[k];
    const clarke_operand *argument = &g->steps[t->step].in[0];
    const clarke_proxy *proxy = injected_at(g, t, in->profile);

    if (proxy == NULL || argument->value != g->steps[i].out)
      continue;
    any = true;
    mpq_set_ui(share, in->times, 1);
    mpq_div(share, proxy->value, share);
    mpq_add(number[clarke_operand_entry(argument, t->feature) * cols + t->column], number[clarke_operand_entry(argument, t->feature) * cols + t->column],
            share);
  }
  mpq_clear(share);
  return any;
}

static clarke_status
put_numbers(void *context, clarke_matrix *g, size_t i, clarke_error *err)
{
  const size_t n = g->rows * g->cols;
  mpq_t *number = clarke_rationals(n);
  clarke_status status = number != NULL ? CLARKE_OK : clarke_no_memory(err);
  clarke_matrix put;

  clarke_matrix_init(&put);
  if (status == CLARKE_OK && collect(number, g->cols, context, i)) {
    status = clarke_matrix_set_rationals(&put, g->rows, g->cols, number, err);
    if (status == CLARKE_OK)
      status = clarke_matrix_add(g, g, &put, err);
  }
  clarke_matrix_clear(&put);
  clarke_rationals_free(number, n);
  return status;
}

/* The slopes of a profile; 0 where it has a number in the gradient's place. */
static clarke_status
choose_slopes(clarke_slopes *slopes, const clarke_audit_session *s, const clarke_profile *profile, clarke_error *err)
{
  const clarke_replay *r = &s->replay;
  clarke_touch *kept = malloc((r->n_touches + 1) * sizeof *kept);
  size_t n = 0;
  clarke_status status = kept != NULL ? CLARKE_OK : clarke_no_memory(err);

  for (size_t k = 0; status == CLARKE_OK && k < r->n_touches; k++)
    if (injected_at(&s->graph, &r->touch[k], profile) == NULL)
      kept[n++] = r->touch[k];
  if (status == CLARKE_OK)
    status = clarke_slopes_choose(slopes, &r->near, kept, n, NULL, profile, err);
  free(kept);
  return status;
}

/* How often the mean goes into the sum. */
static size_t
times_of(const clarke_audit_session *s)
{
  const size_t outputs = s->graph.values[s->graph.output].count;

  return s->loss.kind == CLARKE_LOSS_SUM ? 1 : s->loss.kind == CLARKE_LOSS_MSE ? s->loss.samples * outputs : clarke_loss_counted(&s->loss);
}

static void
scale(clarke_sweep_norms *n, size_t times)
{
  mpq_t q;

  mpq_init(q);
  mpq_set_ui(q, times, 1);
  mpq_mul(n->l1, n->l1, q);
  mpq_mul(n->inf, n->inf, q);
  n->l1_within = clarke_up_mul(n->l1_within, (double)times);
  n->inf_within = clarke_up_mul(n->inf_within, (double)times);
  mpq_clear(q);
}

/* What the samples that touch kinks add to the gradient: the others add the same under every profile. */
static clarke_status
gradient_under(clarke_matrix *gradient, const clarke_audit_session *s, const clarke_profile *profile, size_t times, clarke_error *err)
{
  const clarke_graph *g = &s->graph;
  const clarke_replay *r = &s->replay;
  clarke_matrix *grad = clarke_matrices_new(g->n_values);
  injection in = {s, profile, gradient, times};
  clarke_slopes slopes;
  clarke_status status = grad != NULL ? CLARKE_OK : clarke_no_memory(err);

  clarke_slopes_init(&slopes);
  if (status == CLARKE_OK)
    status = choose_slopes(&slopes, s, profile, err);
  if (status == CLARKE_OK)
    status = clarke_loss_seed(&grad[g->output], &s->loss, &r->near, r->near_sample, err);
  if (status == CLARKE_OK)
    status = injects(s, profile) ? clarke_reverse_visited(grad, &r->near, &slopes, put_numbers, receive, &in, err)
                                 : clarke_reverse_run(grad, &r->near, &slopes, CLARKE_NONE, clarke_gradient_sink, gradient, err);
  clarke_matrices_free(grad, g->n_values);
  clarke_slopes_clear(&slopes);
  return status;
}

/* A tensor's difference, into the norms. A gradient of no rows is 0. */
static clarke_status
add_tensor(clarke_sweep_norms *n, clarke_matrix *a, clarke_matrix *b, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  double within = 0;
  mpq_t most, x;

  if (a->rows == 0)
    clarke_matrix_swap(a, b);
  if (b->rows > 0)
    status = clarke_matrix_sub(a, a, b, err);
  mpq_inits(most, x, NULL);
  for (size_t e = 0; status == CLARKE_OK && e < a->rows; e++) {
    const double radius = clarke_matrix_radius(a, e, 0);

    clarke_matrix_get(x, a, e, 0);
    mpq_abs(x, x);
    mpq_add(n->l1, n->l1, x);
    n->l1_within = clarke_up_add(n->l1_within, radius);
    if (mpq_cmp(x, most) > 0)
      mpq_set(most, x);
    within = fmax(within, radius);
  }
  mpq_add(n->inf, n->inf, most);
  n->inf_within = clarke_up_add(n->inf_within, within);
  mpq_clears(most, x, NULL);
  return status;
}

static clarke_status
subtract(clarke_sweep_norms *n, const clarke_audit_session *s, const clarke_profile *a, const clarke_profile *b, size_t times, clarke_error *err)
{
  const size_t parameters = s->graph.n_parameters;
  clarke_matrix *ga = clarke_matrices_new(parameters), *gb = clarke_matrices_new(parameters);
  clarke_status status = ga != NULL && gb != NULL ? CLARKE_OK : clarke_no_memory(err);

  if (status == CLARKE_OK)
    status = gradient_under(ga, s, a, times, err);
  if (status == CLARKE_OK)
    status = gradient_under(gb, s, b, times, err);
  for (size_t p = 0; status == CLARKE_OK && p < parameters; p++)
    status = add_tensor(n, &ga[p], &gb[p], err);
  clarke_matrices_free(ga, parameters);
  clarke_matrices_free(gb, parameters);
  return status;
}

clarke_status
clarke_sweep_exact(clarke_sweep_norms *n, clarke_truth *zero, const clarke_audit_session *s, const clarke_sweep_question *q, size_t a,
                   size_t b, clarke_error *err)
{
  const clarke_replay *r = &s->replay;
  clarke_status status = CLARKE_OK;
  bool parts = false, any = false;
  mpq_t within;

  for (size_t k = 0; k < r->n_touches && status == CLARKE_OK; k++) {
    status = touch_parts(&parts, s, &r->touch[k], &q->profile[a], &q->profile[b], err);
    any = any || parts;
  }
  /* In the compensation zone nothing depends on which slope is taken; a number in the gradient's place is none. */
  *zero = r->open > 0 ? CLARKE_UNKNOWN : CLARKE_YES;
  if (status != CLARKE_OK || !any || r->open > 0 ||
      (s->audit.zone.zone == CLARKE_ZONE_COMPENSATION && !injects(s, &q->profile[a]) && !injects(s, &q->profile[b])))
    return status;
  status = subtract(n, s, &q->profile[a], &q->profile[b], q->sum ? times_of(s) : 1, err);
  if (status != CLARKE_OK)
    return status;
  if (q->sum)
    scale(n, times_of(s));
  mpq_init(within);
  if (isfinite(n->l1_within))
    mpq_set_d(within, n->l1_within);
  n->finite = isfinite(n->l1_within);
  *zero = !n->finite ? CLARKE_UNKNOWN : mpq_cmp(n->l1, within) > 0 ? CLARKE_NO : n->l1_within == 0 ? CLARKE_YES : CLARKE_UNKNOWN;
  mpq_clear(within);
  return CLARKE_OK;
}
