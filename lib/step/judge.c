#include "step/judge.h"

#include "base/stop.h"
#include "exact/upward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BITS CLARKE_STEP_PRECISION

void
clarke_step_finding_clear(clarke_step_finding *f)
{
  free(f->by_rule);
  memset(f, 0, sizeof *f);
}

bool
clarke_step_is_wide(const clarke_step_finding *f)
{
  return f->within > 0 && f->bound > f->moved / 4;
}

static void
set_double(clarke_number *x, double d)
{
  mpq_t q;

  mpq_init(q);
  mpq_set_d(q, d);
  clarke_number_set_q(x, q);
  mpq_clear(q);
}

/* What is asked of an entry: -1 theta, else a slot that the step left behind. */
static bool
is_asked(const clarke_step_question *q, const clarke_step_tensor *t, int slot)
{
  return slot < 0 || (q->rule->slot[slot] && t->slot[1][slot] != NULL);
}

static double
recorded_at(const clarke_step_tensor *t, int slot, size_t i)
{
  return slot < 0 ? t->theta[1][i] : t->slot[1][slot][i];
}

/* --- bit for bit --------------------------------------------------------------------------------------------- */

/* The ways in which the entry is the program's: those that all others were, or any. */
static uint64_t
ways_of(const clarke_step_finding *f, const clarke_step_question *q, const clarke_step_tensor *t, size_t i)
{
  clarke_single_state before = {.theta = t->theta[0][i]}, after = {.theta = t->theta[1][i]};
  bool compared[CLARKE_N_SLOTS];
  uint64_t found;

  for (int s = 0; s < CLARKE_N_SLOTS; s++) {
    compared[s] = is_asked(q, t, s);
    before.slot[s] = t->slot[0][s] != NULL ? t->slot[0][s][i] : 0;
    after.slot[s] = compared[s] ? t->slot[1][s][i] : 0;
  }
  found = clarke_single_ways(q->single, f->ways, &before, t->gradient[i], &after, compared);
  return found != 0 ? found : clarke_single_ways(q->single, ~f->ways, &before, t->gradient[i], &after, compared);
}

/* --- within the bound --------------------------------------------------------------------------------------- */

static clarke_status
enclose(clarke_step_entry *e, const clarke_step_question *q, const clarke_step_tensor *t, size_t i, clarke_error *err)
{
  clarke_number g;
  clarke_status status;

  set_double(&e->theta, t->theta[0][i]);
  clarke_rule_begin(e, q->rule, q->hypers);
  for (int s = 0; s < CLARKE_N_SLOTS; s++)
    if (t->slot[0][s] != NULL)
      set_double(&e->slot[s], t->slot[0][s][i]);
  clarke_number_init(&g);
  set_double(&g, q->maximize ? -t->gradient[i] : t->gradient[i]);
  if (q->scale != NULL)
    mpq_div(g.q, g.q, q->scale);
  status = clarke_rule_step(e, q->rule, &g, q->hypers, q->k, err);
  clarke_number_clear(&g);
  return status;
}

/* At least how far the ball reaches from its middle. */
static double
radius_of(const clarke_number *x)
{
  return x->exact ? 0 : mag_get_d(arb_radref(x->b));
}

/* Does theta stay as it was, and the rule says so, but for rounding? Then no wrong step passes for it. */
static bool
is_at_rest(const clarke_step_entry *e, const clarke_step_tensor *t, size_t i)
{
  return !e->theta.exact && t->theta[1][i] == t->theta[0][i] && arf_cmp_d(arb_midref(e->theta.b), t->theta[0][i]) == 0;
}

/* 1 inside, 0 outside, -1: the ball is no bound. */
static int
is_inside(const clarke_number *x, double d)
{
  clarke_number y;
  int sign;

  if (!x->exact && !arb_is_finite(x->b))
    return -1;
  clarke_number_init(&y);
  set_double(&y, d);
  sign = clarke_number_compare(x, &y, BITS);
  clarke_number_clear(&y);
  return sign == 0 || sign == 2;
}

/* The first entry that is wrong, or, before any is, open. */
static clarke_status
note(clarke_step_finding *f, int slot, size_t i, double recorded, const clarke_number *by_rule, clarke_error *err)
{
  free(f->by_rule);
  f->slot = slot;
  f->entry = i;
  f->recorded = recorded;
  f->by_rule = by_rule != NULL ? clarke_number_text(by_rule) : strdup("not known");
  return f->by_rule != NULL ? CLARKE_OK : clarke_no_memory(err);
}

static clarke_status
compare(clarke_step_finding *f, const clarke_step_entry *e, const clarke_step_question *q, const clarke_step_tensor *t, size_t i,
        clarke_error *err)
{
  int worst = 1, where = -1;

  for (int s = -1; s < CLARKE_N_SLOTS; s++) {
    const int is = is_asked(q, t, s) ? is_inside(s < 0 ? &e->theta : &e->slot[s], recorded_at(t, s, i)) : 1;

    if (is == 1 || worst == 0)
      continue;
    worst = is;
    where = s;
  }
  f->within += worst == 1;
  f->open += worst < 0;
  f->wrong += worst == 0;
  if (worst != -1 && !is_at_rest(e, t, i))
    f->bound = fmax(f->bound, clarke_up_mul(2, radius_of(&e->theta)));
  if ((worst == 0 && f->wrong == 1) || (worst < 0 && f->wrong == 0 && f->open == 1))
    return note(f, where, i, recorded_at(t, where, i), where < 0 ? &e->theta : &e->slot[where], err);
  return CLARKE_OK;
}

static clarke_status
judge_entry(clarke_step_finding *f, clarke_step_entry *e, const clarke_step_question *q, const clarke_step_tensor *t, size_t i,
            clarke_error *err)
{
  const uint64_t ways = q->single != NULL ? ways_of(f, q, t, i) : 0;
  clarke_error why = {CLARKE_OK, ""};
  clarke_status status;

  f->moved = fmax(f->moved, fabs(t->theta[1][i] - t->theta[0][i]));
  if (ways != 0) {
    f->bits++;
    f->ways &= ways;
    return CLARKE_OK;
  }
  status = enclose(e, q, t, i, &why);
  if (status == CLARKE_OK)
    return compare(f, e, q, t, i, err);
  if (status != CLARKE_EVAGUE)
    return clarke_fail(err, status, "%s", why.text);
  f->open++;
  return f->wrong == 0 && f->open == 1 ? note(f, -1, i, t->theta[1][i], NULL, err) : CLARKE_OK;
}

clarke_status
clarke_step_judge(clarke_step_finding *f, const clarke_step_question *q, const clarke_step_tensor *t, bool stop, clarke_error *err)
{
  clarke_step_entry e;
  clarke_status status = CLARKE_OK;

  memset(f, 0, sizeof *f);
  f->ways = ~(uint64_t)0;
  clarke_step_entry_init(&e);
  for (size_t i = 0; i < t->n && status == CLARKE_OK && !(stop && f->wrong + f->open > 0); i++) {
    status = judge_entry(f, &e, q, t, i, err);
    if (status == CLARKE_OK)
      status = clarke_work_check(err);
  }
  clarke_step_entry_clear(&e);
  return status;
}

bool
clarke_step_product_follows(const double product[2], const clarke_hypers *h, size_t k)
{
  clarke_number next, mu;
  bool follows;

  clarke_number_init(&next);
  clarke_number_init(&mu);
  set_double(&next, product[0]);
  clarke_rule_product(&next, &mu, h, k);
  follows = is_inside(&next, product[1]) != 0;
  clarke_number_clear(&next);
  clarke_number_clear(&mu);
  return follows;
}
