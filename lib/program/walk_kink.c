/* Instructions that may be at a kink: which piece, entry or arm a walk takes near the point. */
#include "program/walk_inside.h"

#include <stdlib.h>

/* Is the argument at a kink whose slopes agree, between pieces that differ? */
static bool
at_silent_kink(const clarke_walk *w, const clarke_instruction *i, size_t piece)
{
  const clarke_number *x = &w->value[i->in[0]];
  bool one = true;

  if (i->kind == CLARKE_DO_ELU)
    return clarke_number_sign(x) == 0 && piece == 0;
  if (piece >= i->pieces->n_kinks || !x->exact || !mpq_equal(x->q, i->pieces->kink[piece]))
    return false;
  for (size_t c = 0; c < 3; c++)
    one = one && mpq_equal(i->pieces->coef[piece][c], i->pieces->coef[piece + 1][c]);
  return !one;
}

static uint8_t
pointwise_degree(const clarke_walk *w, const clarke_instruction *i, size_t piece, bool silent)
{
  uint8_t degree = w->degree[i->in[0]];

  if (degree == 0)
    return 0;
  if (silent)
    return 2;
  if (i->kind == CLARKE_DO_ELU)
    return piece == 1 ? degree : mpq_sgn(i->coef[0]) == 0 ? 0 : 2;
  if (mpq_sgn(i->pieces->coef[piece][2]) != 0)
    return 2;
  return mpq_sgn(i->pieces->coef[piece][1]) == 0 ? 0 : degree;
}

/* The slope at the kink becomes any between the two. */
static void
open_slope(clarke_number *slope, clarke_walk *w, const clarke_instruction *i, size_t kink)
{
  mpq_t left, right;
  clarke_number other;

  mpq_inits(left, right, NULL);
  clarke_number_init(&other);
  clarke_kink_slopes(left, right, i, kink);
  clarke_number_set_q(slope, left);
  clarke_number_set_q(&other, right);
  clarke_number_join(slope, slope, &other, w->e->precision);
  clarke_number_clear(&other);
  mpq_clears(left, right, NULL);
  w->n_open++;
}

clarke_status
clarke_walk_pointwise(clarke_walk *w, clarke_walk_state *state, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &w->e->p->instruction[at];
  const clarke_number *x = &w->value[i->in[0]];
  clarke_number slope;
  size_t piece;
  bool silent;
  int sign = 0;
  clarke_place_kind place = clarke_pointwise_place(&piece, i, x, w->e->precision);
  clarke_status status;

  if (place == CLARKE_PLACE_OPEN)
    return clarke_walk_stuck(w, state, at, "no precision tells on which side of its kink this is");
  silent = place == CLARKE_PLACE_INSIDE && at_silent_kink(w, i, piece);
  if (place == CLARKE_PLACE_KINK) {
    if (!clarke_walk_sign_near(w, at, i->in[0], CLARKE_NONE, &sign)) {
      *state = CLARKE_WALK_FORK;
      return CLARKE_OK;
    }
    if (w->untold)
      return clarke_walk_stuck(w, state, at, "no precision tells to which side of its kink the directions lead");
    piece += sign == 1;
  }
  w->part[at] = piece;
  clarke_number_init(&slope);
  clarke_pointwise_value(&w->value[at], &slope, i, piece, x, w->e->precision);
  if (sign == CLARKE_ANY_SIDE)
    open_slope(&slope, w, i, piece);
  status = clarke_walk_gradient_addmul(w, at, &slope, i->in[0], err);
  clarke_walk_settle(w, at, sign == CLARKE_ANY_SIDE ? 2 : pointwise_degree(w, i, piece, silent));
  if (status == CLARKE_OK && !silent && sign != CLARKE_ANY_SIDE)
    status = clarke_walk_refine(w, at, err);
  if (status == CLARKE_OK && w->series != NULL) {
    if (silent && (w->series[i->in[0]] != NULL || w->lost[i->in[0]]))
      clarke_walk_lose(w, at);
    else
      status = clarke_walk_series_piece(w, at, piece, err);
  }
  clarke_number_clear(&slope);
  return status;
}

/* at's value, gradient, degree and series are those of another instruction. */
static clarke_status
same_as(clarke_walk *w, size_t at, size_t from, clarke_error *err)
{
  clarke_number one;
  clarke_status status;

  clarke_number_init(&one);
  clarke_number_set_si(&one, 1);
  clarke_number_set(&w->value[at], &w->value[from]);
  status = clarke_walk_gradient_addmul(w, at, &one, from, err);
  clarke_walk_settle(w, at, w->degree[from]);
  clarke_number_clear(&one);
  if (status == CLARKE_OK)
    status = clarke_walk_refine(w, at, err);
  return status == CLARKE_OK ? clarke_walk_series_copy(w, at, from, err) : status;
}

/* at is one of the n instructions, whose values are one. */
static clarke_status
any_of(clarke_walk *w, size_t at, const size_t *left, size_t n, clarke_error *err)
{
  clarke_number none;

  w->gradient[at] = clarke_numbers(w->width);
  if (w->gradient[at] == NULL)
    return clarke_no_memory(err);
  clarke_number_init(&none);
  clarke_number_set(&w->value[at], &w->value[left[0]]);
  for (size_t k = 0; k < n; k++)
    for (size_t e = 0; e < w->width; e++) {
      clarke_number *y = &w->gradient[at][e];
      const clarke_number *x = w->gradient[left[k]] != NULL ? &w->gradient[left[k]][e] : &none;

      if (k == 0)
        clarke_number_set(y, x);
      else
        clarke_number_join(y, y, x, w->e->precision);
    }
  clarke_number_clear(&none);
  w->degree[at] = 2;
  w->n_open++;
  return CLARKE_OK;
}

clarke_status
clarke_walk_order(clarke_walk *w, clarke_walk_state *state, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &w->e->p->instruction[at];
  size_t *tied = malloc(i->n_in * sizeof *tied), *copy_of = malloc(i->n_in * sizeof *copy_of);
  size_t n, rank, taken;
  clarke_status status = CLARKE_OK;

  if (tied == NULL || copy_of == NULL)
    status = clarke_no_memory(err);
  else if (!clarke_order_place(tied, &n, &rank, i, w->value, w->e->precision))
    status = clarke_walk_stuck(w, state, at, "no precision tells these numbers apart");
  else {
    for (size_t k = 0; k < n; k++)
      tied[k] = i->in[tied[k]];
    w->fork.up = 2 * rank > n + 1;
    w->vague = false;
    if (clarke_walk_take(w, at, tied, &n, w->fork.up ? n + 1 - rank : rank, copy_of, &taken)) {
      w->part[at] = taken;
      if (w->untold)
        status = clarke_walk_stuck(w, state, at, "no precision tells which of these numbers comes first along the directions");
      else
        status = taken != CLARKE_NONE ? same_as(w, at, taken, err) : any_of(w, at, tied, n, err);
      if (w->vague) { /* along the lines it is what is taken, near them perhaps another */
        clarke_walk_polynomial_drop(w, at);
        w->degree[at] = 2;
      }
    } else
      *state = CLARKE_WALK_FORK;
  }
  free(tied);
  free(copy_of);
  return status;
}

clarke_status
clarke_walk_branch(clarke_walk *w, clarke_walk_state *state, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &w->e->p->instruction[at];
  int sign;

  if (w->demand.arm[at] != 0)
    return same_as(w, at, i->in[w->demand.arm[at] == 1 ? 2 : 3], err);
  sign = clarke_branch_place(i, w->value, w->e->precision);
  if (sign == 2)
    return clarke_walk_stuck(w, state, at, "no precision tells whether this condition holds");
  /* Where the comparands were equal all around, == would take an arm that neither sign takes. */
  if (sign == 0 && (i->relation == CLARKE_EQ || i->relation == CLARKE_NE) &&
      !clarke_walk_identical(w, i->in[0], i->in[1]) && !clarke_walk_differs(w, i->in[0], i->in[1]))
    return clarke_walk_stuck(w, state, at, "whether these are equal all around the point is not known");
  if (sign == 0 && !clarke_walk_sign_near(w, at, i->in[0], i->in[1], &sign)) {
    *state = CLARKE_WALK_FORK;
    return CLARKE_OK;
  }
  if (sign == CLARKE_ANY_SIDE)
    return clarke_walk_stuck(w, state, at,
                             w->untold        ? "no precision tells which arm the directions lead into"
                             : w->n_lines > 0 ? "the directions do not tell which arm is taken"
                                              : "the arm of a branch cannot be left open");
  w->part[at] = clarke_relation_holds(i->relation, sign);
  w->demand.arm[at] = w->part[at] ? 1 : -1;
  return CLARKE_OK;
}
