/* What is known under the choices so far, and what must be decided next (search.h). */
#include "region/sweep.h"

#include "base/stop.h"

#include <flint/fmpz_vec.h>

/* --- rows ------------------------------------------------------------------------------------ */

#define MUST_SPLIT 2

/* The sign of the row in s->row over all that is left: -1, 1; 0: it is zero everywhere; or MUST_SPLIT. */
static int
place_row(const clarke_region_search *s)
{
  const slong dim = (slong)s->forms->dim;

  if (s->local && !fmpz_is_zero(s->row + dim))
    return fmpz_sgn(s->row + dim);
  if (_fmpz_vec_is_zero(s->row, dim))
    return fmpz_sgn(s->row + dim);
  if (s->rays->n > 0) {
    const int sign = clarke_rays_sign(s->rays, s->row);

    return sign != 0 ? sign : MUST_SPLIT;
  }
  if (s->rays->bounds != NULL || s->rays->box != NULL) {
    int sign = s->rays->bounds != NULL ? clarke_bounds_sign(s->rays, s->row, s->unit) : 0;

    if (sign == 0 && s->rays->box != NULL)
      sign = clarke_box_sign(s->rays, s->row);
    return sign != 0 ? sign : MUST_SPLIT;
  }
  return MUST_SPLIT;
}

static void
mark(clarke_region_search *s, bool *what, size_t i)
{
  what[i] = true;
  s->done[s->n_done++] = i;
}

void
clarke_region_take_back(clarke_region_search *s, size_t n)
{
  while (s->n_done > n) {
    const size_t i = s->done[--s->n_done];

    if (s->known[i])
      s->known[i] = false;
    else
      s->asked[i] = false;
  }
}

/* --- what is known --------------------------------------------------------------------------- */

/* For a proof all arguments count, those times 0 too, as for the checker, which has no joined sums: its rows come in this
 * order. */
static bool
arguments_known(const clarke_region_search *s, size_t i)
{
  const clarke_sum *sum = &s->forms->sum[i];
  const bool joined = sum->in != NULL && s->listener == NULL;
  const size_t *in = joined ? sum->in : s->forms->p->instruction[i].in;
  const size_t n = joined ? sum->n : s->forms->p->instruction[i].n_in;

  for (size_t j = 0; j < n; j++)
    if (!s->known[in[j]])
      return false;
  return true;
}

void
clarke_region_settle(clarke_region_search *s, size_t i, size_t piece)
{
  const clarke_sum *sum = &s->forms->sum[i];

  /* what a sum takes depends on what it was before, and so on threads; what counts does not */
  clarke_work_spend((sum->in != NULL ? sum->n : s->forms->p->instruction[i].n_in) / 4 + s->width + 4);
  clarke_forms_compute(s->forms, i, piece);
  mark(s, s->known, i);
}

/* The piece under the sides of its kinks. CLARKE_NO_SIDE where the argument is constant at one. */
static void
settle_piecewise(clarke_region_search *s, size_t i)
{
  const clarke_instruction *at = &s->forms->p->instruction[i];
  size_t piece = 0;
  bool rests = false;

  for (size_t k = 0; k < at->pieces->n_kinks; k++) {
    if (clarke_forms_is_smooth(at, k))
      continue;
    rests = rests || s->side[CLARKE_MAX_KINKS * i + k] == 0;
    piece = s->side[CLARKE_MAX_KINKS * i + k] > 0 ? k + 1 : piece;
  }
  s->choice[i] = rests ? CLARKE_NO_SIDE : (unsigned char)piece;
  clarke_region_settle(s, i, piece);
}

/* Sides that are a matter of course; the others become questions. */
static void
ask_piecewise(clarke_region_search *s, clarke_region_level *l, size_t i)
{
  const clarke_instruction *at = &s->forms->p->instruction[i];
  const size_t before = l->n;

  for (size_t k = 0; k < at->pieces->n_kinks; k++) {
    int sign;

    if (clarke_forms_is_smooth(at, k))
      continue;
    clarke_work_spend(s->width + 4);
    clarke_forms_kink(s->row, s->forms, i, k);
    sign = place_row(s);
    if (sign == MUST_SPLIT)
      l->question[l->n++] = (clarke_region_question){i, k};
    else
      s->side[CLARKE_MAX_KINKS * i + k] = (signed char)sign;
  }
  if (l->n == before)
    settle_piecewise(s, i);
  else
    mark(s, s->asked, i);
}

/* Can candidate a be the largest, as far as differences tell that are a matter of course? Of equal ones the first can. */
bool
clarke_region_may_win(const clarke_region_search *s, size_t i, size_t a)
{
  const clarke_instruction *at = &s->forms->p->instruction[i];

  for (size_t b = 0; b < at->n_in; b++) {
    int sign = 1;

    clarke_work_spend(s->width + 4);
    if (b != a) {
      clarke_forms_difference(s->row, s->forms, i, a, b);
      sign = place_row(s);
    }
    if (sign < 0 || (sign == 0 && b < a))
      return false;
  }
  return true;
}

/* *fork = i, unless one is to come before or the winner is a matter of course. */
static void
ask_order(clarke_region_search *s, size_t *fork, size_t i)
{
  const clarke_instruction *at = &s->forms->p->instruction[i];
  size_t winners = 0, winner = 0;

  for (size_t a = 0; a < at->n_in && winners < 2; a++)
    if (clarke_region_may_win(s, i, a)) {
      winner = a;
      winners++;
    }
  if (winners == 1) {
    s->choice[i] = (unsigned char)winner;
    clarke_region_settle(s, i, winner);
  } else if (*fork == CLARKE_NONE)
    *fork = i;
}

/* One instruction, if it can be. */
static void
take(clarke_region_search *s, clarke_region_level *l, size_t *fork, size_t i)
{
  const clarke_do kind = s->forms->p->instruction[i].kind;

  if (s->known[i] || !arguments_known(s, i))
    return;
  if (s->listener != NULL && s->joined[i])
    mark(s, s->known, i); /* its terms are */
  else if (kind == CLARKE_DO_PIECEWISE && s->asked[i])
    settle_piecewise(s, i);
  else if (kind == CLARKE_DO_PIECEWISE)
    ask_piecewise(s, l, i);
  else if (kind == CLARKE_DO_ORDER)
    ask_order(s, fork, i);
  else
    clarke_region_settle(s, i, 0);
}

/* Computes all that is affine by now. What must be decided next is in l, or *fork is a maximum. */
clarke_status
clarke_region_sweep(clarke_region_search *s, clarke_region_level *l, size_t *fork, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  *fork = CLARKE_NONE;
  for (size_t k = 0; k < (s->listener == NULL ? s->forms->n_live : s->forms->p->n) && status == CLARKE_OK; k++) {
    const size_t i = s->listener == NULL ? s->forms->live[k] : k;

    if (k % 256 == 255)
      status = clarke_work_check(err);
    if (s->forms->needed[i])
      take(s, l, fork, i);
  }
  return status;
}
