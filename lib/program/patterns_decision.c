/* Decisions on a path: what a choice adds, as gradients and as polynomials, and their signs along a direction. */
#include "program/patterns_inside.h"
#include "base/room.h"

#include <stdlib.h>

static void
polynomial_free(clarke_polynomial *q, const clarke_walk *w)
{
  if (q != NULL)
    clarke_polynomial_clear(q, w->ring);
  free(q);
}

void
clarke_search_drop(clarke_pattern_search *s, size_t from)
{
  while (s->n_rows > from) {
    clarke_decision *row = &s->row[--s->n_rows];

    clarke_numbers_free(row->gradient, s->width);
    polynomial_free(row->q, &s->walk);
  }
}

/* The k-th decision of a choice as a polynomial; NULL when it is none. */
static clarke_polynomial *
decision_polynomial(const clarke_walk *w, size_t choice, size_t k)
{
  clarke_polynomial *q = w->polynomial != NULL ? malloc(sizeof *q) : NULL;

  if (q == NULL)
    return NULL;
  clarke_polynomial_init(q, w->ring);
  clarke_walk_decision_polynomial(q, w, choice, k);
  if (!q->kept) {
    polynomial_free(q, w);
    q = NULL;
  }
  return q;
}

static bool
is_linear(const clarke_pattern_search *s, const clarke_decision *row)
{
  return row->affine || (row->q != NULL && clarke_polynomial_has_linear_factor(row->q, row->gradient, s->width, s->walk.ring));
}

clarke_status
clarke_search_decide(clarke_pattern_search *s, size_t choice, clarke_error *err)
{
  for (size_t k = 0; k < clarke_walk_decisions(&s->walk); k++) {
    clarke_number *g = clarke_numbers(s->width);
    uint8_t degree;

    if (g == NULL || !clarke_room(&s->row, &s->capacity_rows, s->n_rows + 1, sizeof *s->row)) {
      clarke_numbers_free(g, s->width);
      return clarke_no_memory(err);
    }
    clarke_walk_decision(g, &degree, &s->walk, choice, k);
    s->row[s->n_rows] = (clarke_decision){.gradient = g, .affine = degree <= 1};
    for (size_t j = 0; j < s->width; j++)
      s->row[s->n_rows].affine &= g[j].exact;
    if (!s->row[s->n_rows].affine)
      s->row[s->n_rows].q = decision_polynomial(&s->walk, choice, k);
    s->row[s->n_rows].linear = is_linear(s, &s->row[s->n_rows]);
    s->n_rows++;
  }
  return CLARKE_OK;
}

/* The sign of <gradient, d>, 2 when a ball does not tell. */
static int
along(const clarke_pattern_search *s, const clarke_decision *row, mpq_t *d)
{
  clarke_number sum;
  int sign;

  clarke_number_init(&sum);
  for (size_t k = 0; k < s->width; k++)
    clarke_number_addmul_q(&sum, d[k], &row->gradient[k], s->e->precision);
  sign = clarke_number_sign(&sum);
  clarke_number_clear(&sum);
  return sign;
}

bool
clarke_search_positive(const clarke_pattern_search *s, mpq_t *d, size_t from, bool linear_only)
{
  for (size_t i = from; i < s->n_rows; i++)
    if ((!linear_only || s->row[i].linear) && along(s, &s->row[i], d) != 1)
      return false;
  return true;
}
