/* Derivatives along directions (directional.h). */
#include "program/directional.h"

#include "base/stop.h"
#include "program/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
clarke_directional_init(clarke_directional *x)
{
  memset(x, 0, sizeof *x);
  clarke_execution_init(&x->execution);
  x->agrees = CLARKE_UNKNOWN;
  x->far = CLARKE_NONE;
}

void
clarke_directional_clear(clarke_directional *x)
{
  clarke_numbers_free(x->derivative, x->n * x->n_outputs);
  clarke_numbers_free(x->ad, x->n * x->n_outputs);
  free(x->turn);
  clarke_execution_clear(&x->execution);
  clarke_directional_init(x);
}

/* --- the sides -------------------------------------------------------------------------------- */

/* A tie's argument that is taken: its place, and the last line that it takes to tell it from another. */
static void
turn_tie(clarke_turn *turn, const clarke_walk *w, const clarke_touched *t)
{
  const clarke_instruction *i = &w->e->p->instruction[t->instruction];

  for (size_t k = t->n_tied; k-- > 0;) {
    size_t told;

    if (i->in[t->tied[k]] == w->part[t->instruction]) {
      turn->side = t->tied[k];
      continue;
    }
    if (clarke_walk_sign_along(&told, w, i->in[t->tied[k]], w->part[t->instruction]) != 0)
      turn->line = turn->line == CLARKE_NONE || told > turn->line ? told : turn->line;
  }
}

static void
turn_at(clarke_turn *turn, const clarke_walk *w, const clarke_touched *t)
{
  const clarke_instruction *i = &w->e->p->instruction[t->instruction];

  *turn = (clarke_turn){.line = CLARKE_NONE, .left = w->demand.done[t->instruction]};
  if (!turn->left)
    return;
  if (i->kind == CLARKE_DO_ORDER)
    turn_tie(turn, w, t);
  else if (i->kind == CLARKE_DO_BRANCH) {
    turn->side = w->part[t->instruction];
    clarke_walk_sign_along(&turn->line, w, i->in[0], i->in[1]);
  } else if (i->kind == CLARKE_DO_NORM)
    for (size_t k = 0; k < i->n_in; k++) {
      size_t told;

      if (clarke_walk_sign_along(&told, w, i->in[k], CLARKE_NONE) != 0 && told < turn->line)
        turn->line = told;
    }
  else
    turn->side = clarke_walk_sign_along(&turn->line, w, i->in[0], CLARKE_NONE) == 1;
}

/* --- the derivative --------------------------------------------------------------------------- */

static clarke_status
keep(clarke_directional *x, const clarke_walk *w, clarke_error *err)
{
  const clarke_execution *e = &x->execution;

  x->derivative = clarke_numbers(x->n * x->n_outputs);
  x->turn = calloc(e->n_touched + 1, sizeof *x->turn);
  if (x->derivative == NULL || x->turn == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < x->n; k++)
    for (size_t o = 0; o < x->n_outputs; o++) {
      const size_t at = e->p->output[o];

      if (w->gradient[at] != NULL)
        clarke_number_set(&x->derivative[k * x->n_outputs + o], &w->gradient[at][k]);
    }
  for (size_t t = 0; t < e->n_touched; t++)
    turn_at(&x->turn[t], w, &e->touched[t]);
  x->known = true;
  return CLARKE_OK;
}

/* At the precision of the execution. *again: more of it may tell what this one does not. */
static clarke_status
follow(bool *again, clarke_directional *x, mpq_t **line, clarke_error *err)
{
  clarke_walk w;
  clarke_walk_state state;
  clarke_status status = clarke_walk_init_lines(&w, &x->execution, line, x->n, err);

  if (status == CLARKE_OK)
    status = clarke_walk_on(&w, &state, err);
  *again = status == CLARKE_OK && w.untold;
  if (status == CLARKE_OK && state == CLARKE_WALK_STUCK)
    snprintf(x->why, sizeof x->why, "%s", w.why);
  else if (status == CLARKE_OK)
    status = keep(x, &w, err);
  clarke_walk_clear(&w);
  return status;
}

static clarke_status
find_derivative(clarke_directional *x, mpq_t *at, mpq_t **line, clarke_error *err)
{
  bool again = true;
  clarke_status status = CLARKE_OK;

  for (long precision = CLARKE_PRECISION_FIRST; precision <= CLARKE_PRECISION_LAST && again; precision *= 2) {
    clarke_execution_clear(&x->execution);
    status = clarke_execute_at(&x->execution, x->p, at, precision, err);
    if (status != CLARKE_OK)
      return status;
    if (!x->execution.open)
      status = follow(&again, x, line, err);
    if (status != CLARKE_OK)
      return status;
  }
  if (x->execution.open) {
    const clarke_instruction *i = &x->p->instruction[x->execution.open_at];

    snprintf(x->why, sizeof x->why, "line %zu, column %zu: no precision up to %ld bits decides the comparison made here", i->line,
             i->column, CLARKE_PRECISION_LAST);
  }
  return CLARKE_OK;
}

/* --- AD --------------------------------------------------------------------------------------- */

static clarke_status
find_ad(clarke_directional *x, mpq_t **line, const clarke_profile *profile, clarke_error *err)
{
  const size_t width = clarke_code_wrt_count(x->p);
  clarke_number *gradient = clarke_numbers(x->n_outputs * width);
  clarke_error refused = {CLARKE_OK, ""};
  clarke_status status;

  x->ad = clarke_numbers(x->n * x->n_outputs);
  status = gradient != NULL && x->ad != NULL ? clarke_execution_ad(gradient, &x->execution, profile, &refused) : clarke_no_memory(&refused);
  for (size_t j = 0; status == CLARKE_OK && j < x->n * x->n_outputs; j++)
    for (size_t k = 0; k < width; k++)
      clarke_number_addmul_q(&x->ad[j], line[j / x->n_outputs][k], &gradient[j % x->n_outputs * width + k], x->execution.precision);
  x->ad_known = status == CLARKE_OK;
  if (status == CLARKE_EINPUT) {
    snprintf(x->ad_why, sizeof x->ad_why, "%.*s", (int)sizeof x->ad_why - 1, refused.text);
    status = CLARKE_OK;
  } else if (status != CLARKE_OK && err != NULL)
    *err = refused;
  clarke_numbers_free(gradient, x->n_outputs * width);
  return status;
}

/* Where no kink is touched F has a derivative, which AD's is. Else rational numbers are compared, and others that differ. */
static clarke_truth
compare(const clarke_directional *x)
{
  clarke_truth all = CLARKE_YES;

  if (!x->known || !x->ad_known)
    return CLARKE_UNKNOWN;
  for (size_t j = 0; j < x->n * x->n_outputs && x->execution.n_touched > 0; j++) {
    const int sign = clarke_number_compare(&x->derivative[j], &x->ad[j], x->execution.precision);

    if (sign == 1 || sign == -1)
      return CLARKE_NO;
    all = sign == 0 ? all : CLARKE_UNKNOWN;
  }
  return all;
}

clarke_status
clarke_directional_find(clarke_directional *x, const clarke_code *p, mpq_t *at, mpq_t **line, size_t n, const clarke_profile *profile,
                      clarke_error *err)
{
  bool lipschitz = false;
  char why[CLARKE_LIPSCHITZ_WHY] = "";
  clarke_status status;

  x->p = p;
  x->n = n;
  x->n_outputs = p->n_outputs;
  status = find_derivative(x, at, line, err);
  if (status != CLARKE_OK || x->execution.open)
    return status;
  status = clarke_lipschitz(&lipschitz, why, &x->far, &x->execution, err);
  if (status == CLARKE_OK && !lipschitz) {
    snprintf(x->why, sizeof x->why, "the program may not be Lipschitz near the point: %s", why);
    x->known = false;
  }
  if (status == CLARKE_OK)
    status = find_ad(x, line, profile, err);
  x->agrees = compare(x);
  return status;
}
