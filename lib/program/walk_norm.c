/* A Euclidean norm at zeros: along an arc, in a rational direction; else enclosed (docs/proof-format.md, "Norms of zeros"). */
#include "program/walk_inside.h"
#include "base/verify.h"

#include <stdlib.h>

/* The place in the series of the first term that is not zero in all arguments, where none is lost. */
static size_t
first_term(const clarke_walk *w, const clarke_instruction *i)
{
  for (size_t j = 0; j < i->n_in; j++)
    if (w->lost[i->in[j]])
      return CLARKE_NONE;
  for (size_t k = 0; k + 1 < CLARKE_SERIES; k++)
    for (size_t j = 0; j < i->n_in; j++)
      if (w->series[i->in[j]] != NULL && mpq_sgn(w->series[i->in[j]][k]) != 0)
        return k;
  return CLARKE_NONE;
}

/* square[k]: the coefficient of t^k of the sum of the squares of the arguments, from their term `first` on. */
static void
sum_of_squares(mpq_t *square, const clarke_walk *w, const clarke_instruction *i, size_t first)
{
  mpq_t t;

  mpq_init(t);
  for (size_t j = 0; j < i->n_in; j++) {
    mpq_t *x = w->series[i->in[j]];

    for (size_t a = first; x != NULL && a + 1 < CLARKE_SERIES; a++)
      for (size_t b = first; a + b - first + 1 < CLARKE_SERIES; b++) {
        mpq_mul(t, x[a], x[b]);
        mpq_add(square[a + b - 2 * first], square[a + b - 2 * first], t);
      }
  }
  mpq_clear(t);
}

/* The root of n terms, the first of which is positive; false when its root is not rational. */
static bool
root(mpq_t *y, mpq_t *const square, size_t n)
{
  mpq_t t, twice;

  if (!mpz_perfect_square_p(mpq_numref(square[0])) || !mpz_perfect_square_p(mpq_denref(square[0])))
    return false;
  mpz_sqrt(mpq_numref(y[0]), mpq_numref(square[0]));
  mpz_sqrt(mpq_denref(y[0]), mpq_denref(square[0]));
  mpq_inits(t, twice, NULL);
  mpq_add(twice, y[0], y[0]);
  for (size_t k = 1; k < n; k++) {
    mpq_set(y[k], square[k]);
    for (size_t j = 1; j < k; j++) {
      mpq_mul(t, y[j], y[k - j]);
      mpq_sub(y[k], y[k], t);
    }
    mpq_div(y[k], y[k], twice);
  }
  mpq_clears(t, twice, NULL);
  return true;
}

static clarke_status
along_arc(clarke_walk *w, clarke_walk_state *state, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &w->e->p->instruction[at];
  size_t first = first_term(w, i);
  mpq_t *square = clarke_walk_series_new(), *y = clarke_walk_series_new();
  clarke_number unit;
  clarke_status status = CLARKE_OK;

  clarke_number_init(&unit);
  if (square == NULL || y == NULL)
    status = clarke_no_memory(err);
  else if (first != CLARKE_NONE)
    sum_of_squares(square, w, i, first);
  if (status == CLARKE_OK && (first == CLARKE_NONE || !root(y, square, CLARKE_SERIES - 1 - first)))
    status = clarke_walk_stuck(w, state, at, "the arc gives this norm no rational direction");
  else if (status == CLARKE_OK) {
    for (size_t k = 0; k < i->n_in && status == CLARKE_OK; k++) {
      clarke_number_set_si(&unit, 0);
      if (w->series[i->in[k]] != NULL)
        mpq_div(unit.q, w->series[i->in[k]][first], y[0]);
      status = clarke_walk_gradient_addmul(w, at, &unit, i->in[k], err);
    }
    w->series[at] = clarke_walk_series_new();
    if (w->series[at] == NULL)
      status = clarke_no_memory(err);
    for (size_t k = first; status == CLARKE_OK && k + 1 < CLARKE_SERIES; k++)
      mpq_set(w->series[at][k], y[k - first]);
  }
  clarke_number_clear(&unit);
  clarke_walk_series_free(&square);
  clarke_walk_series_free(&y);
  return status;
}

/* In each entry at most the norm of the arguments' derivatives, of either sign. */
static clarke_status
enclose(clarke_walk *w, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &w->e->p->instruction[at];
  long precision = w->e->precision;
  clarke_number sum, minus;

  w->gradient[at] = clarke_numbers(w->width);
  if (w->gradient[at] == NULL)
    return clarke_no_memory(err);
  clarke_number_init(&sum);
  clarke_number_init(&minus);
  for (size_t e = 0; e < w->width; e++) {
    clarke_number *g = &w->gradient[at][e];

    clarke_number_set_si(&sum, 0);
    for (size_t k = 0; k < i->n_in; k++)
      if (w->gradient[i->in[k]] != NULL) {
        clarke_number_largest(&minus, &w->gradient[i->in[k]][e], precision);
        clarke_number_addmul(&sum, &minus, &minus, precision);
      }
    if (!clarke_number_analytic(g, NULL, CLARKE_FN_SQRT, &sum, precision))
      CLARKE_ASSERT(!"a sum of squares is not negative");
    clarke_number_set_si(&minus, -1);
    clarke_number_mul(&minus, &minus, g, precision);
    clarke_number_join(g, g, &minus, precision);
  }
  clarke_number_clear(&sum);
  clarke_number_clear(&minus);
  w->n_enclosed++;
  return CLARKE_OK;
}

/* The length of the arguments' derivatives along line k: 0 when they are zeros, 2 when no precision tells, else 1. */
static int
length_along(clarke_number *length, const clarke_walk *w, const clarke_instruction *i, size_t k)
{
  int sign = 0;

  clarke_number_set_si(length, 0);
  for (size_t j = 0; j < i->n_in; j++)
    if (w->gradient[i->in[j]] != NULL) {
      const clarke_number *x = &w->gradient[i->in[j]][k];
      const int of = clarke_number_sign(x);

      sign = of == 1 || of == -1 || sign == 1 ? 1 : of == 2 ? 2 : sign;
      clarke_number_addmul(length, x, x, w->e->precision);
    }
  if (sign == 1 && !clarke_number_analytic(length, NULL, CLARKE_FN_SQRT, length, w->e->precision))
    sign = 2;
  return sign;
}

/* Along lines, the first of which to move the arguments gives the unit vector; before it the norm does not move. */
static clarke_status
along_lines(clarke_walk *w, clarke_walk_state *state, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &w->e->p->instruction[at];
  clarke_number length, unit;
  clarke_status status = CLARKE_OK;
  size_t k = 0;
  int sign = 0;

  clarke_number_init(&length);
  clarke_number_init(&unit);
  while (k < w->width && (sign = length_along(&length, w, i, k)) == 0)
    k++;
  w->untold = w->untold || sign == 2;
  for (size_t j = 0; j < i->n_in && sign == 1 && status == CLARKE_OK; j++)
    if (w->gradient[i->in[j]] != NULL) {
      clarke_number_div(&unit, &w->gradient[i->in[j]][k], &length, w->e->precision);
      status = clarke_walk_gradient_addmul(w, at, &unit, i->in[j], err);
    }
  clarke_number_clear(&length);
  clarke_number_clear(&unit);
  if (status == CLARKE_OK && sign == 2)
    return clarke_walk_stuck(w, state, at, "no precision tells whether the directions move this norm of zeros");
  return status;
}

clarke_status
clarke_walk_norm(clarke_walk *w, clarke_walk_state *state, size_t at, clarke_error *err)
{
  w->degree[at] = 2;
  if (w->n_lines > 0)
    return along_lines(w, state, at, err);
  return w->series != NULL ? along_arc(w, state, at, err) : enclose(w, at, err);
}
