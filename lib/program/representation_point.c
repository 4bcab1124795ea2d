/* A representation at the point: conditions and pieces are executed there. */
#include "program/representation_point.h"

#include "program/representation_words.h"
#include "exact/hull.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Executes the program at the point with these outputs in place of its own. *defined is false where
 * that is an error, *open where a comparison is left open. */
static clarke_status
execute_for(clarke_execution *x, bool *defined, clarke_code *copy, const clarke_code *p,
            mpq_t *at, size_t n, size_t *output, clarke_error *err)
{
  clarke_status status;

  *copy = *p;
  copy->output = output;
  copy->n_outputs = n;
  status = clarke_execute(x, copy, at, err);
  *defined = status == CLARKE_OK && !x->open;
  return status == CLARKE_EINPUT ? CLARKE_OK : status;
}

/* The sign of the difference of two instructions at the point; 2: not decided. */
static clarke_status
sign_at(int *sign, const clarke_code *p, mpq_t *at, size_t left, size_t right,
        clarke_error *err)
{
  size_t output[2] = {left, right};
  clarke_code copy = *p;
  clarke_status status = CLARKE_OK;

  copy.output = output;
  copy.n_outputs = 2;
  *sign = 2;
  for (long precision = CLARKE_PRECISION_FIRST; precision <= CLARKE_PRECISION_LAST && *sign == 2;
       precision *= 2) {
    clarke_execution x;

    clarke_execution_init(&x);
    status = clarke_execute_at(&x, &copy, at, precision, err);
    if (status == CLARKE_OK && !x.open)
      *sign = left == right ? 0
                            : clarke_number_compare(&x.value[left], &x.value[right], precision);
    clarke_execution_clear(&x);
    if (status != CLARKE_OK)
      break;
  }
  return status == CLARKE_EINPUT ? CLARKE_OK : status;
}

/* Does the piece hold at the point? 1, 0, or 2 when that is not decided. */
static clarke_status
holds_at(int *holds, const clarke_code *p, mpq_t *at, const clarke_piece *piece,
         clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  *holds = 1;
  for (size_t k = 0; k < piece->n_conditions && *holds == 1 && status == CLARKE_OK; k++) {
    const clarke_condition *c = &piece->condition[k];
    int sign;

    status = sign_at(&sign, p, at, c->left, c->right, err);
    *holds = sign == 2 ? 2 : clarke_relation_holds(c->relation, sign);
  }
  return status;
}

/* The gradient of an instruction at the point, where its execution touches no kink and the gradient
 * is rational (*known). */
static clarke_status
gradient_at(bool *known, mpq_t *gradient, const clarke_code *p, mpq_t *at, size_t instruction,
            clarke_error *err)
{
  size_t n = clarke_code_wrt_count(p);
  clarke_number *g = clarke_numbers(n);
  clarke_code copy;
  clarke_execution x;
  clarke_status status;

  *known = false;
  if (g == NULL)
    return clarke_no_memory(err);
  clarke_execution_init(&x);
  status = execute_for(&x, known, &copy, p, at, 1, &instruction, err);
  *known = *known && x.n_touched == 0;
  if (status == CLARKE_OK && *known)
    status = clarke_execution_ad(g, &x, NULL, err);
  for (size_t j = 0; j < n && *known; j++) {
    *known = g[j].exact;
    if (*known)
      mpq_set(gradient[j], g[j].q);
  }
  clarke_execution_clear(&x);
  clarke_numbers_free(g, n);
  return status;
}

/* The pieces that hold at the point, the first two of them; *decided is false when one is not. */
static clarke_status
holding_at(size_t *first, size_t *second, bool *decided, const clarke_code *p, mpq_t *at,
           clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  *first = *second = CLARKE_NONE;
  *decided = true;
  for (size_t k = 0; k < p->n_pieces && status == CLARKE_OK; k++) {
    int holds;

    status = holds_at(&holds, p, at, &p->piece[k], err);
    *decided = *decided && holds != 2;
    if (holds == 1 && *first == CLARKE_NONE)
      *first = k;
    else if (holds == 1 && *second == CLARKE_NONE)
      *second = k;
  }
  return status;
}

static clarke_status
add_selection(clarke_representation *r, clarke_points *all, const clarke_code *p, mpq_t *at,
              size_t piece, clarke_error *err)
{
  mpq_t *gradient;
  bool known;
  int sign;
  clarke_status status = sign_at(&sign, p, at, p->piece[piece].value, p->output[0], err);

  if (status != CLARKE_OK || (sign != 0 && sign != 2 && piece != r->active))
    return status;
  gradient = clarke_rationals(all->dim);
  if (gradient == NULL)
    return clarke_no_memory(err);
  status = gradient_at(&known, gradient, p, at, p->piece[piece].value, err);
  r->selection_known = r->selection_known && sign != 2 && (known || sign != 0);
  if (status == CLARKE_OK && known && sign == 0)
    status = clarke_points_add(all, gradient, err);
  if (status == CLARKE_OK && known && piece == r->active) {
    r->associated = gradient;
    return CLARKE_OK;
  }
  clarke_rationals_free(gradient, all->dim);
  return status;
}

void
clarke_wrt_point(mpq_t *point, const clarke_code *p, mpq_t *at)
{
  for (size_t i = 0; i < p->n_inputs; i++)
    for (size_t k = 0; p->input[i].wrt && k < p->input[i].n; k++) {
      size_t instruction = p->input[i].first + k;

      mpq_set(point[clarke_code_wrt_entry(p, instruction)],
              at[clarke_code_entry(p, instruction)]);
    }
}

/* The point alone may show that the pieces do not represent the function. */
static clarke_status
refute_at(clarke_representation *r, const clarke_code *p, mpq_t *at, size_t first, size_t second,
          bool decided, clarke_error *err)
{
  mpq_t *point = clarke_rationals(r->selection.dim);
  clarke_sentence w = {.n = 0};
  int sign = 0;
  clarke_status status = CLARKE_OK;

  if (point == NULL)
    return clarke_no_memory(err);
  clarke_wrt_point(point, p, at);
  if (second != CLARKE_NONE || (first == CLARKE_NONE && decided)) {
    clarke_say_holding(&w, p, first, second);
  } else if (first != CLARKE_NONE) {
    status = sign_at(&sign, p, at, p->piece[first].value, p->output[0], err);
    if (sign == 1 || sign == -1) {
      clarke_say_piece(&w, p, first);
      clarke_say(&w, " is %s than the function", sign > 0 ? "greater" : "less");
    }
  }
  if (w.n > 0) {
    clarke_say_point(&w, p, at, point);
    r->answer = CLARKE_MISREPRESENTS;
    snprintf(r->why, sizeof r->why, "%s", w.text);
  }
  clarke_rationals_free(point, r->selection.dim);
  return status;
}

clarke_status
clarke_representation_check_point(clarke_representation *r, const clarke_code *p, mpq_t *at, clarke_error *err)
{
  size_t first, second;
  clarke_points all;
  bool decided;
  clarke_status status = holding_at(&first, &second, &decided, p, at, err);

  if (status != CLARKE_OK)
    return status;
  if (decided && second == CLARKE_NONE)
    r->active = first;
  status = refute_at(r, p, at, first, second, decided, err);
  clarke_points_init(&all, r->selection.dim);
  r->selection_known = true;
  for (size_t k = 0; k < p->n_pieces && status == CLARKE_OK; k++)
    status = add_selection(r, &all, p, at, k, err);
  if (status == CLARKE_OK && r->selection_known)
    status = clarke_points_hull(&r->selection, &r->selection_known, &all, err);
  clarke_points_clear(&all);
  return status;
}
