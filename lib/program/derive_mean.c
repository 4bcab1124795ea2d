/* A direction and its opposite, between which AD's output lies (docs/proof-format.md, "Means of choices"). */
#include "program/derive_mean.h"

#include "program/patterns_inside.h"

#include <stdlib.h>

#define DIRECTIONS 8

typedef struct {
  const clarke_derivation *d;
  mpq_t *direction;
  clarke_number *tangent; /* by instruction: its derivative along the direction, where it is made of nothing touched */
  bool *touched;          /* by instruction: it is touched, or made of what is */
  clarke_number *partial; /* of the instruction at hand */
} search;

/* Is AD's slope the mean of both sides'? And does the argument move? */
static bool
halves_kink(const search *s, const clarke_touched *t, const clarke_instruction *i)
{
  mpq_t left, right;
  bool halves;

  mpq_inits(left, right, NULL);
  clarke_kink_slopes(left, right, i, t->kink);
  mpq_add(left, left, right);
  mpq_div_2exp(left, left, 1);
  halves = s->partial[0].exact && mpq_equal(left, s->partial[0].q);
  mpq_clears(left, right, NULL);
  return halves && abs(clarke_number_sign(&s->tangent[i->in[0]])) == 1;
}

/* Does each of two equal entries have a half, and do they part? */
static bool
halves_tie(const search *s, const clarke_touched *t, const clarke_instruction *i)
{
  mpq_t half;
  bool halves = t->n_tied == 2;

  mpq_init(half);
  mpq_set_ui(half, 1, 2);
  for (size_t k = 0; k < 2 && halves; k++)
    halves = s->partial[t->tied[k]].exact && mpq_equal(s->partial[t->tied[k]].q, half);
  mpq_clear(half);
  return halves && abs(clarke_number_compare(&s->tangent[i->in[t->tied[0]]], &s->tangent[i->in[t->tied[1]]],
                                             s->d->execution.precision)) == 1;
}

/* The vector moves, by rational numbers. */
static bool
moves_norm(const search *s, const clarke_instruction *i)
{
  bool moves = false;

  for (size_t k = 0; k < i->n_in; k++) {
    if (!s->tangent[i->in[k]].exact)
      return false;
    moves |= clarke_number_sign(&s->tangent[i->in[k]]) != 0;
  }
  return moves;
}

static bool
halves(const search *s, const clarke_touched *t, const clarke_instruction *i)
{
  for (size_t k = 0; k < i->n_in; k++)
    if (s->d->execution.live[i->in[k]] && s->touched[i->in[k]])
      return false;
  if (i->kind == CLARKE_DO_ORDER)
    return halves_tie(s, t, i);
  if (i->kind == CLARKE_DO_NORM)
    return moves_norm(s, i);
  return i->kind != CLARKE_DO_BRANCH && halves_kink(s, t, i);
}

/* An instruction that is not touched; its partial derivatives are known. */
static void
follow_smooth(search *s, size_t at)
{
  const clarke_execution *e = &s->d->execution;
  const clarke_instruction *i = &s->d->p->instruction[at];
  const size_t arm = i->in != NULL && i->kind == CLARKE_DO_BRANCH ? i->in[e->piece[at] != 0 ? 2 : 3] : 0;

  clarke_number_set_si(&s->tangent[at], 0);
  s->touched[at] = false;
  if (i->kind == CLARKE_DO_BRANCH) {
    clarke_number_set(&s->tangent[at], &s->tangent[arm]);
    s->touched[at] = s->touched[arm];
  } else if (i->kind == CLARKE_DO_INPUT) {
    if (clarke_code_wrt_entry(s->d->p, at) != CLARKE_NONE)
      clarke_number_set_q(&s->tangent[at], s->direction[clarke_code_wrt_entry(s->d->p, at)]);
  } else
    for (size_t k = 0; k < i->n_in; k++) {
      clarke_number_addmul(&s->tangent[at], &s->partial[k], &s->tangent[i->in[k]], e->precision);
      s->touched[at] |= s->touched[i->in[k]];
    }
}

/* The derivative of a root of 0 is infinite. */
static bool
is_root_of_zero(const clarke_execution *e, const clarke_instruction *i)
{
  return i->kind == CLARKE_DO_ANALYTIC && i->function == CLARKE_FN_SQRT && clarke_number_sign(&e->value[i->in[0]]) == 0;
}

/* Follows the program along the direction: *between, if AD's output is the mean. */
static clarke_status
follow(search *s, bool *between, clarke_error *err)
{
  const clarke_execution *e = &s->d->execution;
  clarke_error inner;

  *between = true;
  for (size_t n = 0; n < e->n_order && *between; n++) {
    const size_t at = e->order[n];
    const clarke_instruction *i = &s->d->p->instruction[at];
    const clarke_touched *t = clarke_touched_find(e, at);
    clarke_status status = CLARKE_OK;

    *between = !is_root_of_zero(e, i);
    if (*between && i->n_in > 0 && i->kind != CLARKE_DO_BRANCH)
      status = clarke_partials(s->partial, e, at, s->d->profile, &inner);
    if (status == CLARKE_EINPUT)
      *between = false; /* a proxy that the profile does not have */
    else if (status != CLARKE_OK)
      return clarke_fail(err, status, "%s", inner.text);
    if (*between && t == NULL)
      follow_smooth(s, at);
    else if (*between) {
      *between = halves(s, t, i);
      s->touched[at] = true;
    }
  }
  return CLARKE_OK;
}

clarke_status
clarke_derive_mean(clarke_derivation *d, clarke_error *err)
{
  const clarke_code *p = d->p;
  const size_t width = d->patterns.width;
  search s = {.d = d, .direction = clarke_rationals(width), .tangent = clarke_numbers(p->n),
              .touched = calloc(p->n + 1, sizeof *s.touched)};
  uint64_t random = 1;
  size_t most = 0;
  bool between = false;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < p->n; i++)
    most = p->instruction[i].n_in > most ? p->instruction[i].n_in : most;
  s.partial = clarke_numbers(most);
  if (s.direction == NULL || s.tangent == NULL || s.touched == NULL || s.partial == NULL)
    status = clarke_no_memory(err);
  for (size_t n = 0; n < DIRECTIONS && !between && status == CLARKE_OK; n++) {
    for (size_t k = 0; k < width; k++)
      mpq_set_si(s.direction[k], clarke_search_small(&random), 1);
    status = follow(&s, &between, err);
  }
  if (between && status == CLARKE_OK) {
    d->opposite = s.direction;
    s.direction = NULL;
  }
  clarke_rationals_free(s.direction, width);
  clarke_numbers_free(s.tangent, p->n);
  clarke_numbers_free(s.partial, most);
  free(s.touched);
  return status;
}
