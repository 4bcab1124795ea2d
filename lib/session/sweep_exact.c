/* How far apart two profiles' exact gradients are. */
#include "session/sweep_inside.h"

#include "exact/upward.h"
#include "network/derive/reverse.h"
#include "network/derive/sink.h"

#include <math.h>
#include <stdlib.h>

/* Do the two take other numbers at the touch? */
static clarke_status
touch_parts(bool *parts, const clarke_audit_session *s, const clarke_touch *t, const clarke_profile *a, const clarke_profile *b,
            clarke_error *err)
{
  const clarke_op *op = s->graph.steps[t->step].op;
  const clarke_tie_rule *ra = clarke_profile_tie(a, op), *rb = clarke_profile_tie(b, op);
  clarke_status status;
  mpq_t x, y;

  if (t->n_options > 0) {
    status = clarke_tie_check(ra, a, op, err);
    if (status == CLARKE_OK)
      status = clarke_tie_check(rb, b, op, err);
    *parts = status == CLARKE_OK && (ra->tie != rb->tie || !mpq_equal(ra->beta, rb->beta));
    return status;
  }
  mpq_inits(x, y, NULL);
  status = clarke_touch_proxy(x, &s->graph, t, a, err);
  if (status == CLARKE_OK)
    status = clarke_touch_proxy(y, &s->graph, t, b, err);
  *parts = status == CLARKE_OK && !mpq_equal(x, y);
  mpq_clears(x, y, NULL);
  return status;
}

/* What the samples that touch kinks add to the gradient: the others add the same under every profile. */
static clarke_status
gradient_under(clarke_matrix *gradient, const clarke_audit_session *s, const clarke_profile *profile, clarke_error *err)
{
  const clarke_graph *g = &s->graph;
  const clarke_replay *r = &s->replay;
  clarke_matrix *grad = clarke_matrices_new(g->n_values);
  clarke_slopes slopes;
  clarke_status status = grad != NULL ? CLARKE_OK : clarke_no_memory(err);

  clarke_slopes_init(&slopes);
  if (status == CLARKE_OK)
    status = clarke_slopes_choose(&slopes, &r->near, r->touch, r->n_touches, NULL, profile, err);
  if (status == CLARKE_OK)
    status = clarke_loss_seed(&grad[g->output], &s->loss, &r->near, r->near_sample, err);
  if (status == CLARKE_OK)
    status = clarke_reverse_run(grad, &r->near, &slopes, CLARKE_NONE, clarke_gradient_sink, gradient, err);
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

/* How often the mean goes into the sum. */
static void
scale(clarke_sweep_norms *n, const clarke_audit_session *s)
{
  const size_t outputs = s->graph.values[s->graph.output].count;
  const size_t times = s->loss.kind == CLARKE_LOSS_SUM   ? 1
                       : s->loss.kind == CLARKE_LOSS_MSE ? s->loss.samples * outputs
                                                         : clarke_loss_counted(&s->loss);
  mpq_t q;

  mpq_init(q);
  mpq_set_ui(q, times, 1);
  mpq_mul(n->l1, n->l1, q);
  mpq_mul(n->inf, n->inf, q);
  n->l1_within = clarke_up_mul(n->l1_within, (double)times);
  n->inf_within = clarke_up_mul(n->inf_within, (double)times);
  mpq_clear(q);
}

static clarke_status
subtract(clarke_sweep_norms *n, const clarke_audit_session *s, const clarke_profile *a, const clarke_profile *b, clarke_error *err)
{
  const size_t parameters = s->graph.n_parameters;
  clarke_matrix *ga = clarke_matrices_new(parameters), *gb = clarke_matrices_new(parameters);
  clarke_status status = ga != NULL && gb != NULL ? CLARKE_OK : clarke_no_memory(err);

  if (status == CLARKE_OK)
    status = gradient_under(ga, s, a, err);
  if (status == CLARKE_OK)
    status = gradient_under(gb, s, b, err);
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
  /* In the compensation zone nothing depends on what is taken. */
  *zero = r->open > 0 ? CLARKE_UNKNOWN : CLARKE_YES;
  if (status != CLARKE_OK || !any || r->open > 0 || s->audit.zone.zone == CLARKE_ZONE_COMPENSATION)
    return status;
  status = subtract(n, s, &q->profile[a], &q->profile[b], err);
  if (status != CLARKE_OK)
    return status;
  if (q->sum)
    scale(n, s);
  mpq_init(within);
  if (isfinite(n->l1_within))
    mpq_set_d(within, n->l1_within);
  n->finite = isfinite(n->l1_within);
  *zero = !n->finite ? CLARKE_UNKNOWN : mpq_cmp(n->l1, within) > 0 ? CLARKE_NO : n->l1_within == 0 ? CLARKE_YES : CLARKE_UNKNOWN;
  mpq_clear(within);
  return CLARKE_OK;
}
