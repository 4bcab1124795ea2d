#include "audit/question.h"

#include "base/verify.h"
#include "network/pass/window.h"

#include <stdlib.h>
#include <string.h>

/* proxy = lambda left + (1 - lambda) right; the slopes differ at a touched kink. */
static clarke_status
compare_proxy(clarke_asked *a, const clarke_question *q, const clarke_touch *t, clarke_error *err)
{
  mpq_t proxy, left, right;
  clarke_status status;

  mpq_inits(proxy, left, right, NULL);
  status = clarke_touch_proxy(proxy, q->g, t, q->profile, err);
  clarke_touch_side(left, q->g, t, false);
  clarke_touch_side(right, q->g, t, true);
  if (mpq_equal(proxy, left))
    a->ad_side = CLARKE_LEFT;
  else if (mpq_equal(proxy, right))
    a->ad_side = CLARKE_RIGHT;
  else
    a->ad_side = CLARKE_PROXY;
  mpq_sub(proxy, proxy, right);
  mpq_sub(left, left, right);
  if (mpq_sgn(left) != 0)
    mpq_div(a->lambda, proxy, left);
  mpq_clears(proxy, left, right, NULL);
  return status;
}

/* The option AD takes, unless it takes a mean. */
static clarke_status
compare_tie(clarke_asked *a, const clarke_question *q, const clarke_touch *t, clarke_error *err)
{
  const clarke_op *op = q->g->steps[t->step].op;
  const clarke_tie_rule *rule = clarke_profile_tie(q->profile, op);
  clarke_status status = clarke_tie_check(rule, q->profile, op, err);

  if (status != CLARKE_OK)
    return status;
  a->ad_side =
    mpq_sgn(rule->beta) != 0 ? CLARKE_PROXY
    : rule->tie == CLARKE_TIE_FIRST
      ? CLARKE_OPTION(0)
      : CLARKE_OPTION(clarke_window_last_option(&q->replay->near, t->step, t->feature, t->column));
  return CLARKE_OK;
}

clarke_status
clarke_question_init(clarke_question *q, clarke_replay *replay,
                     const clarke_profile *profile, const clarke_loss *loss, clarke_error *err)
{
  size_t n = replay->n_touches;
  clarke_status status = CLARKE_OK;

  CLARKE_VERIFY_CHECK(clarke_replay_is_valid(replay) && clarke_profile_is_valid(profile));
  memset(q, 0, sizeof *q);
  q->g = replay->g;
  q->replay = replay;
  q->profile = profile;
  q->loss = *loss;
  q->touch = calloc(n + 1, sizeof *q->touch);
  if (q->touch == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < n; k++) {
    mpq_init(q->touch[k].lambda);
    arb_init(q->touch[k].adjoint);
    q->touch[k].first_gain = q->n_gains;
    q->n_gains += clarke_touch_sides(&replay->touch[k]);
  }
  for (size_t k = 0; k < n && status == CLARKE_OK; k++)
    status = (replay->touch[k].n_options > 0 ? compare_tie : compare_proxy)(&q->touch[k], q, &replay->touch[k], err);
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_question_is_valid(q));
  return status;
}

void
clarke_question_clear(clarke_question *q)
{
  for (size_t k = 0; q->touch != NULL && k < q->replay->n_touches; k++) {
    mpq_clear(q->touch[k].lambda);
    arb_clear(q->touch[k].adjoint);
  }
  free(q->touch);
  memset(q, 0, sizeof *q);
}

clarke_status
clarke_question_slopes(clarke_slopes *s, const clarke_question *q, const clarke_branch *side, clarke_error *err)
{
  const clarke_replay *r = q->replay;

  return clarke_slopes_choose(s, &r->near, r->touch, r->n_touches, side, q->profile, err);
}
