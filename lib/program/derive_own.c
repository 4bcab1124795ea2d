/* The pattern that AD follows (derive_own.h): whether one of those found is it, and the choices that lead to it. */
#include "program/derive_own.h"

#include <stdlib.h>

/* Are AD's partial derivatives of an ORDER those of the entry taken, up to entries that are equal to
 * it near the point? */
static bool
order_agrees(const clarke_walk *w, const clarke_instruction *i, size_t taken,
             const clarke_number *partial)
{
  for (size_t k = 0; k < i->n_in; k++)
    if (clarke_number_sign(&partial[k]) != 0 && !clarke_walk_identical(w, i->in[k], taken))
      return false;
  return true; /* the weights over the tied entries sum to 1 */
}

/* Does AD do at a touched instruction what the walk does? */
static bool
touch_agrees(const clarke_walk *w, const clarke_touched *t, const clarke_number *partial)
{
  size_t at = t->instruction;
  const clarke_instruction *i = &w->e->p->instruction[at];
  mpq_t left, right;
  bool agrees;

  switch (i->kind) {
  case CLARKE_DO_BRANCH:
    return w->part[at] == w->e->piece[at];
  case CLARKE_DO_ORDER:
    return order_agrees(w, i, w->part[at], partial);
  case CLARKE_DO_PIECEWISE:
  case CLARKE_DO_ELU:
    if (w->degree[i->in[0]] == 0)
      return true;
    mpq_inits(left, right, NULL);
    clarke_kink_slopes(left, right, i, t->kink);
    agrees = partial[0].exact &&
             mpq_equal(partial[0].q, w->part[at] == t->kink ? left : right);
    mpq_clears(left, right, NULL);
    return agrees;
  default: /* a norm of zeros: it is 0 as AD's derivative says only where they are constant */
    return w->degree[at] == 0;
  }
}

static clarke_status
walk_agrees(bool *agrees, const clarke_derivation *d, const clarke_walk *w, clarke_error *err)
{
  const clarke_execution *e = &d->execution;
  clarke_status status = CLARKE_OK;

  *agrees = true;
  for (size_t k = 0; k < e->n_touched && *agrees && status == CLARKE_OK; k++) {
    size_t at = e->touched[k].instruction, n = e->p->instruction[at].n_in;
    clarke_number *partial = clarke_numbers(n);

    if (partial == NULL)
      return clarke_no_memory(err);
    /* Arms have agreed so far, so that w has executed this one too. */
    *agrees = w->demand.done[at];
    if (*agrees)
      status = clarke_partials(partial, e, at, d->profile, err);
    if (*agrees && status == CLARKE_OK)
      *agrees = touch_agrees(w, &e->touched[k], partial);
    clarke_numbers_free(partial, n);
  }
  return status;
}

static clarke_status
follows(bool *agrees, const clarke_derivation *d, clarke_walk *w, const clarke_pattern *p,
        clarke_error *err)
{
  clarke_walk_state state = CLARKE_WALK_FORK;
  clarke_status status = CLARKE_OK;

  clarke_walk_restart(w, NULL);
  for (size_t k = 0; k <= p->n_choices && status == CLARKE_OK; k++) {
    status = clarke_walk_on(w, &state, err);
    if (status == CLARKE_OK && k < p->n_choices)
      clarke_walk_choose(w, p->choice[k]);
  }
  if (status == CLARKE_OK && state != CLARKE_WALK_END)
    return clarke_fail(err, CLARKE_EINTERNAL, "a pattern could not be followed again");
  return status == CLARKE_OK ? walk_agrees(agrees, d, w, err) : status;
}

clarke_status
clarke_derive_own(size_t *found, const clarke_derivation *d, clarke_error *err)
{
  const clarke_patterns *t = &d->patterns;
  clarke_walk w;
  clarke_status status = clarke_walk_init(&w, &d->execution, NULL, 0, err);

  *found = CLARKE_NONE;
  for (size_t i = 0; i < t->n && status == CLARKE_OK && *found == CLARKE_NONE; i++) {
    bool agrees = false;

    if (!t->pattern[i].realized ||
        (d->ad_exact && !clarke_numbers_equal(d->ad, t->pattern[i].gradient, d->dim)))
      continue;
    status = follows(&agrees, d, &w, &t->pattern[i], err);
    if (agrees)
      *found = i;
  }
  clarke_walk_clear(&w);
  return status;
}

clarke_status
clarke_derive_choice(size_t *choice, void *context, const clarke_walk *w, clarke_error *err)
{
  const clarke_derivation *d = context;
  const clarke_fork_point *fork = &w->fork;
  const clarke_instruction *i = &d->p->instruction[fork->instruction];
  const clarke_touched *t = clarke_touched_find(&d->execution, fork->instruction);
  clarke_number *partial = clarke_numbers(i->n_in);
  clarke_status status = partial != NULL ? CLARKE_OK : clarke_no_memory(err);
  mpq_t slope[2];

  *choice = CLARKE_NONE;
  mpq_inits(slope[0], slope[1], NULL);
  if (status == CLARKE_OK && t != NULL)
    status = clarke_partials(partial, &d->execution, fork->instruction, d->profile, err);
  if (status == CLARKE_OK && t != NULL && i->kind == CLARKE_DO_ORDER) {
    for (size_t c = 0; c < fork->n_choices && *choice == CLARKE_NONE; c++)
      if (order_agrees(w, i, fork->y[c], partial))
        *choice = c;
  } else if (status == CLARKE_OK && t != NULL && i->kind == CLARKE_DO_BRANCH) {
    for (size_t c = 0; c < 2 && *choice == CLARKE_NONE; c++)
      if (clarke_relation_holds(i->relation, c == 1 ? 1 : -1) ==
          (d->execution.piece[fork->instruction] != 0))
        *choice = c;
  } else if (status == CLARKE_OK && t != NULL) {
    clarke_kink_slopes(slope[0], slope[1], i, t->kink);
    for (size_t c = 0; c < 2 && *choice == CLARKE_NONE; c++)
      if (partial[0].exact && mpq_equal(partial[0].q, slope[c]))
        *choice = c;
  }
  mpq_clears(slope[0], slope[1], NULL);
  clarke_numbers_free(partial, i->n_in);
  return status;
}
