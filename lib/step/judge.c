#include "step/judge_inside.h"

#include "base/stop.h"
#include "exact/upward.h"
#include "step/piece.h"

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
clarke_step_is_wide(const clarke_step_finding *f, int *slot)
{
  for (int s = -1; s < CLARKE_N_SLOTS && f->within > 0; s++)
    if (f->bound[1 + s] > f->moved[1 + s] / 4) {
      if (slot != NULL)
        *slot = s;
      return true;
    }
  return false;
}

void
clarke_judge_set(clarke_number *x, double d)
{
  mpq_t q;

  mpq_init(q);
  mpq_set_d(q, d);
  clarke_number_set_q(x, q);
  mpq_clear(q);
}

/* What is asked of an entry: -1 theta, else a slot that the step left behind. */
bool
clarke_judge_is_asked(const clarke_step_question *q, const clarke_step_tensor *t, int slot)
{
  return slot < 0 || (q->rule->slot[slot] && t->slot[1][slot] != NULL);
}

static double
recorded_after(const clarke_step_tensor *t, int slot, size_t i)
{
  return slot < 0 ? t->theta[1][i] : t->slot[1][slot][i];
}

static const clarke_number *
number_at(const clarke_step_entry *e, int slot)
{
  return slot < 0 ? &e->theta : &e->slot[slot];
}

/* A question, with what all entries share computed once. */
typedef struct {
  clarke_step_question question;
  clarke_hypers hypers;
  clarke_number product;
} shared_question;

static void
share_begin(shared_question *own, const clarke_step_question *q, const clarke_hypers *h)
{
  own->question = *q;
  own->hypers = *h;
  own->question.hypers = &own->hypers;
  clarke_number_init(&own->product);
  if (strcmp(q->rule->name, "torch-nadam") == 0 && clarke_rule_products(&own->product, h, q->k + 1))
    own->hypers.product = &own->product;
}

/* Only the product is its own. */
static void
share_end(shared_question *own)
{
  clarke_number_clear(&own->product);
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
    compared[s] = clarke_judge_is_asked(q, t, s);
    before.slot[s] = t->slot[0][s] != NULL ? t->slot[0][s][i] : q->single->start[s];
    after.slot[s] = compared[s] ? t->slot[1][s][i] : 0;
  }
  found = clarke_single_ways(q->single, f->ways, &before, t->gradient[i], &after, compared);
  return found != 0 ? found : clarke_single_ways(q->single, ~f->ways, &before, t->gradient[i], &after, compared);
}

/* --- within the bound --------------------------------------------------------------------------------------- */

/* Does the rule leave the entry as it is, because a sparse gradient does not have it? */
static bool
is_left(const clarke_step_question *q, const clarke_step_tensor *t, size_t i)
{
  return q->rule->sparse && t->times != NULL && t->times[i] == 0;
}

/* Numbers of one entry may be added up in any order, to the gradient or to theta one by one: n units of the sum of their sizes, and as many where
 * they were added up for the record. Other roundings are n times as many. False: then nothing is known. */
static bool
add_up(clarke_number *g, clarke_hypers *h, const clarke_step_tensor *t, size_t i)
{
  clarke_number size;
  mpq_t q;

  if (t->times == NULL || t->sizes == NULL || t->times[i] <= 1 || h->rounding.unit == 0)
    return true;
  mpq_init(q);
  clarke_number_init(&size);
  clarke_judge_set(&size, t->sizes[i]);
  clarke_piece_parts(q, 2 * (unsigned long)t->times[i] + 4, h->rounding.unit);
  clarke_piece_widen(g, q, &size);
  for (int64_t n = 1; n < t->times[i]; n *= 2)
    h->rounding.unit--;
  clarke_number_clear(&size);
  mpq_clear(q);
  return h->rounding.unit > 0;
}

static clarke_status
enclose(clarke_step_entry *e, const clarke_step_question *q, const clarke_step_tensor *t, size_t i, clarke_error *err)
{
  clarke_hypers h = *q->hypers;
  clarke_number g;
  clarke_status status;

  clarke_judge_set(&e->theta, t->theta[0][i]);
  clarke_rule_begin(e, q->rule, q->hypers);
  for (int s = 0; s < CLARKE_N_SLOTS; s++)
    if (t->slot[0][s] != NULL)
      clarke_judge_set(&e->slot[s], t->slot[0][s][i]);
  if (is_left(q, t, i))
    return CLARKE_OK;
  clarke_number_init(&g);
  clarke_judge_set(&g, q->maximize ? -t->gradient[i] : t->gradient[i]);
  if (q->scale != NULL)
    mpq_div(g.q, g.q, q->scale);
  status = add_up(&g, &h, t, i) ? clarke_rule_step(e, q->rule, &g, &h, q->k, err)
                                : clarke_fail(err, CLARKE_EVAGUE, "a sparse gradient has an entry %lld times", (long long)t->times[i]);
  clarke_number_clear(&g);
  return status;
}

/* At least how far the ball reaches from its middle. */
double
clarke_judge_radius(const clarke_number *x)
{
  return x->exact ? 0 : mag_get_d(arb_radref(x->b));
}

/* Where theta, then each slot, is before the step: as recorded, or where the rule begins it (Rprop's size, which may stay there, from 0). */
static void
find_start(double start[1 + CLARKE_N_SLOTS], clarke_step_entry *e, const clarke_step_question *q, const clarke_step_tensor *t, size_t i)
{
  bool begins = false;

  start[0] = t->theta[0][i];
  for (int s = 0; s < CLARKE_N_SLOTS; s++) {
    start[1 + s] = t->slot[0][s] != NULL ? t->slot[0][s][i] : 0;
    begins = begins || (t->slot[0][s] == NULL && clarke_judge_is_asked(q, t, s));
  }
  if (!begins)
    return;
  clarke_judge_set(&e->theta, t->theta[0][i]);
  clarke_rule_begin(e, q->rule, q->hypers);
  for (int s = 0; s < CLARKE_N_SLOTS; s++)
    if (t->slot[0][s] == NULL && s != CLARKE_SLOT_SIZE)
      start[1 + s] = clarke_number_double(&e->slot[s]);
}

/* Does an entry stay as it was, and the rule says so, but for rounding? Then no wrong step passes for it. */
bool
clarke_judge_is_at_rest(const clarke_number *x, double before, double after)
{
  return !x->exact && after == before && arf_cmp_d(arb_midref(x->b), before) == 0;
}

/* 1 inside, 0 outside, -1: the ball is no bound. */
int
clarke_judge_is_inside(const clarke_number *x, double d)
{
  clarke_number y;
  int sign;

  if (!x->exact && !arb_is_finite(x->b))
    return -1;
  clarke_number_init(&y);
  clarke_judge_set(&y, d);
  sign = clarke_number_compare(x, &y, BITS);
  clarke_number_clear(&y);
  return sign == 0 || sign == 2;
}

/* The first entry that is wrong, or, before any is, open. */
clarke_status
clarke_judge_note(clarke_step_finding *f, int slot, size_t i, double recorded, const clarke_number *by_rule, clarke_error *err)
{
  free(f->by_rule);
  f->slot = slot;
  f->entry = i;
  f->recorded = recorded;
  f->by_rule = by_rule != NULL ? clarke_number_text(by_rule) : strdup("not known");
  return f->by_rule != NULL ? CLARKE_OK : clarke_no_memory(err);
}

/* How wide are the bounds? */
static void
measure(clarke_step_finding *f, const clarke_step_entry *e, const double *start, const clarke_step_question *q, const clarke_step_tensor *t,
        size_t i)
{
  for (int s = -1; s < CLARKE_N_SLOTS; s++)
    if (clarke_judge_is_asked(q, t, s) && !clarke_judge_is_at_rest(number_at(e, s), start[1 + s], recorded_after(t, s, i)))
      f->bound[1 + s] = fmax(f->bound[1 + s], clarke_up_mul(2, clarke_judge_radius(number_at(e, s))));
}

/* How far has it moved? */
static void
add_move(clarke_step_finding *f, const double *start, const clarke_step_question *q, const clarke_step_tensor *t, size_t i)
{
  for (int s = -1; s < CLARKE_N_SLOTS; s++)
    if (clarke_judge_is_asked(q, t, s))
      f->moved[1 + s] = fmax(f->moved[1 + s], fabs(recorded_after(t, s, i) - start[1 + s]));
}

static clarke_status
compare(clarke_step_finding *f, const clarke_step_entry *e, const double *start, const clarke_step_question *q, const clarke_step_tensor *t,
        size_t i, clarke_error *err)
{
  int worst = 1, where = -1;

  for (int s = -1; s < CLARKE_N_SLOTS; s++) {
    const int is = clarke_judge_is_asked(q, t, s) ? clarke_judge_is_inside(number_at(e, s), recorded_after(t, s, i)) : 1;

    if (is == 1 || worst == 0)
      continue;
    worst = is;
    where = s;
  }
  f->bits += worst == 1 && is_left(q, t, i);
  f->within += worst == 1 && !is_left(q, t, i);
  f->open += worst < 0;
  f->wrong += worst == 0;
  if (worst != -1)
    measure(f, e, start, q, t, i);
  if ((worst == 0 && f->wrong == 1) || (worst < 0 && f->wrong == 0 && f->open == 1))
    return clarke_judge_note(f, where, i, recorded_after(t, where, i), number_at(e, where), err);
  return CLARKE_OK;
}

static clarke_status
judge_entry(clarke_step_finding *f, clarke_step_entry *e, const clarke_step_question *q, const clarke_step_tensor *t, size_t i,
            clarke_error *err)
{
  const uint64_t ways = q->single != NULL && !is_left(q, t, i) ? ways_of(f, q, t, i) : 0;
  clarke_error why = {CLARKE_OK, ""};
  double start[1 + CLARKE_N_SLOTS];
  clarke_status status;

  find_start(start, e, q, t, i);
  add_move(f, start, q, t, i);
  if (ways != 0) {
    f->bits++;
    f->ways &= ways;
    return CLARKE_OK;
  }
  status = enclose(e, q, t, i, &why);
  if (status == CLARKE_OK)
    return compare(f, e, start, q, t, i, err);
  if (status != CLARKE_EVAGUE)
    return clarke_fail(err, status, "%s", why.text);
  f->open++;
  return f->wrong == 0 && f->open == 1 ? clarke_judge_note(f, -1, i, t->theta[1][i], NULL, err) : CLARKE_OK;
}

clarke_status
clarke_step_judge(clarke_step_finding *f, const clarke_step_question *q, const clarke_step_tensor *t, bool stop, clarke_error *err)
{
  clarke_step_entry e;
  shared_question own;
  clarke_status status = CLARKE_OK;

  memset(f, 0, sizeof *f);
  f->ways = ~(uint64_t)0;
  if (q->rule->whole != NULL)
    return clarke_judge_whole(f, q, t, err);
  clarke_step_entry_init(&e);
  share_begin(&own, q, q->hypers);
  for (size_t i = 0; i < t->n && status == CLARKE_OK && !(stop && f->wrong + f->open > 0); i++) {
    status = judge_entry(f, &e, &own.question, t, i, err);
    if (status == CLARKE_OK)
      status = clarke_work_check(err);
  }
  share_end(&own);
  clarke_step_entry_clear(&e);
  return status;
}

/* At most |x - d|. */
double
clarke_judge_distance(const clarke_number *x, double d)
{
  clarke_number y, off;
  fmpq_t exact;
  arb_t ball;
  arf_t end;
  double most;

  clarke_number_init(&y);
  clarke_number_init(&off);
  arb_init(ball);
  arf_init(end);
  clarke_judge_set(&y, d);
  clarke_number_sub(&off, x, &y, BITS);
  fmpq_init(exact);
  if (off.exact) {
    fmpq_set_mpq(exact, off.q);
    arb_set_fmpq(ball, exact, BITS);
  } else
    arb_set(ball, off.b);
  fmpq_clear(exact);
  arb_get_abs_ubound_arf(end, ball, 60);
  most = arf_is_finite(end) ? arf_get_d(end, ARF_RND_UP) : INFINITY;
  clarke_number_clear(&y);
  clarke_number_clear(&off);
  arb_clear(ball);
  arf_clear(end);
  return most;
}

/* Does the rule leave theta, or that slot, exactly where it was? It does where the gradient, the decay and m are 0, and v or u where it is 0 or a
 * sum; and theta where the step size is 0; and ASGD's average where theta is, and it is there already. (psi is not asked about, nor Rprop's size.) */
static bool
stays(const double *start, const clarke_step_question *q, const clarke_step_tensor *t, int slot, size_t i)
{
  const clarke_rule *r = q->rule;
  const clarke_hypers *h = q->hypers;
  const bool decays = start[0] != 0 && mpq_sgn(h->of[CLARKE_HYPER_DECAY]) != 0, fades = start[0] != 0 && mpq_sgn(h->of[CLARKE_HYPER_LAMBD]) != 0;
  const bool of_gradient = t->gradient[i] == 0 && !(decays && h->decay == CLARKE_DECAY_COUPLED);
  const bool slides = r->slot[CLARKE_SLOT_M] && start[1 + CLARKE_SLOT_M] != 0, still = mpq_sgn(h->of[CLARKE_HYPER_STEP]) == 0;

  if (r->slot[CLARKE_SLOT_PSI] || (slot >= 0 && r->slot[CLARKE_SLOT_SIZE]))
    return false;
  if (!clarke_rule_takes(r, CLARKE_HYPER_STEP)) /* an average: of equal numbers */
    return t->gradient[i] == start[0];
  if (slot == CLARKE_SLOT_U && r->slot[CLARKE_SLOT_M]) /* Adamax's, of which eps is a part */
    return false;
  if (slot == CLARKE_SLOT_V || slot == CLARKE_SLOT_U)
    return of_gradient && (start[1 + slot] == 0 || !clarke_rule_takes(r, CLARKE_HYPER_SIGMA));
  if (slot == CLARKE_SLOT_AX && start[1 + slot] != start[0])
    return false;
  if (slot != CLARKE_SLOT_M && still && !r->slot[CLARKE_SLOT_SIZE])
    return !slides || strcmp(r->name, "nag") != 0; /* whose m has the step size in it */
  return of_gradient && !slides && !(slot != CLARKE_SLOT_M && (decays || fades));
}

/* The rule's numbers are enclosed as those of a program in floats that hardly round. */
clarke_status
clarke_step_distances(double far[1 + CLARKE_N_SLOTS], const clarke_step_question *q, const clarke_step_tensor *t, clarke_error *err)
{
  clarke_hypers h = *q->hypers;
  shared_question own;
  clarke_step_entry e;
  double start[1 + CLARKE_N_SLOTS];
  clarke_status status = CLARKE_OK;

  h.rounding = (clarke_step_rounding){.unit = 200, .tiny = 4000, .scalar = 200};
  if (q->rule->whole != NULL)
    return clarke_judge_whole_distances(far, q, t, &h, err);
  share_begin(&own, q, &h);
  memset(far, 0, (1 + CLARKE_N_SLOTS) * sizeof *far);
  clarke_step_entry_init(&e);
  for (size_t i = 0; i < t->n && status == CLARKE_OK; i++) {
    find_start(start, &e, &own.question, t, i);
    status = enclose(&e, &own.question, t, i, err);
    for (int s = -1; s < CLARKE_N_SLOTS && status == CLARKE_OK; s++)
      if (clarke_judge_is_asked(q, t, s) && !(start[1 + s] == recorded_after(t, s, i) && stays(start, q, t, s, i)))
        far[1 + s] = fmax(far[1 + s], clarke_judge_distance(number_at(&e, s), recorded_after(t, s, i)));
    if (status == CLARKE_OK)
      status = clarke_work_check(err);
  }
  share_end(&own);
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
  clarke_judge_set(&next, product[0]);
  clarke_rule_product(&next, &mu, h, k);
  follows = clarke_judge_is_inside(&next, product[1]) != 0;
  clarke_number_clear(&next);
  clarke_number_clear(&mu);
  return follows;
}

bool
clarke_step_product_is(double product, const clarke_hypers *h, size_t k)
{
  clarke_number right;
  bool is;

  clarke_number_init(&right);
  is = clarke_rule_products(&right, h, k) && clarke_judge_is_inside(&right, product) != 0;
  clarke_number_clear(&right);
  return is;
}

bool
clarke_step_average_is(double number, bool eta, const clarke_hypers *h, size_t k)
{
  clarke_number right;
  mpq_t mu;
  bool is;

  mpq_init(mu);
  clarke_number_init(&right);
  clarke_rule_asgd_eta(&right, h, k);
  if (!eta) {
    clarke_rule_asgd_mu(mu, h, k);
    clarke_number_set_q(&right, mu);
    clarke_piece_share(&right, h, NULL, NULL, &right);
  }
  is = clarke_judge_is_inside(&right, number) != 0;
  clarke_number_clear(&right);
  mpq_clear(mu);
  return is;
}
