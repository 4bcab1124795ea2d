#include "audit/membership.h"

#include "audit/enumerate.h"
#include "base/verify.h"
#include "exact/number.h"
#include "network/derive/reverse.h"
#include "network/derive/sink.h"

#include <stdlib.h>
#include <string.h>

void
clarke_membership_init(clarke_membership *m)
{
  memset(m, 0, sizeof *m);
  m->place = CLARKE_HULL_UNKNOWN;
  clarke_row_init(&m->v);
}

void
clarke_membership_clear(clarke_membership *m, size_t n)
{
  clarke_rationals_free(m->weight, n);
  clarke_row_clear(&m->v);
  clarke_membership_init(m);
}

clarke_status
clarke_partial_gradient(clarke_matrix *gradient, const clarke_question *q, const clarke_branch *side,
                        clarke_error *err)
{
  const clarke_graph *g = q->g;
  const clarke_replay *r = q->replay;
  clarke_matrix *grad = clarke_matrices_new(g->n_values);
  clarke_slopes slopes;
  clarke_status status;

  if (grad == NULL)
    return clarke_no_memory(err);
  clarke_slopes_init(&slopes);
  status = clarke_question_slopes(&slopes, q, side, err);
  if (status == CLARKE_OK)
    status = clarke_loss_seed(&grad[g->output], &q->loss, &r->near, r->near_sample, err);
  if (status == CLARKE_OK)
    status = clarke_reverse_run(grad, &r->near, &slopes, CLARKE_NONE, clarke_gradient_sink, gradient,
                                err);
  clarke_matrices_free(grad, g->n_values);
  clarke_slopes_clear(&slopes);
  return status;
}

clarke_status
clarke_gradients_subtract(clarke_matrix *a, const clarke_matrix *b, const clarke_graph *g, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t p = 0; p < g->n_parameters && status == CLARKE_OK; p++) {
    if (b[p].rows == 0)
      continue;
    if (a[p].rows == 0)
      status = clarke_matrix_resize(&a[p], b[p].rows, 1, 1, err);
    if (status == CLARKE_OK)
      status = clarke_matrix_sub(&a[p], &a[p], &b[p], err);
  }
  return status;
}

/* The midpoints as a sparse row; *exact tells whether they are the values. */
static clarke_status
as_row(clarke_row *row, bool *exact, const clarke_matrix *d, const clarke_graph *g,
       clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  mpq_t q;

  mpq_init(q);
  for (size_t p = 0; p < g->n_parameters; p++) {
    *exact = *exact && (d[p].rows == 0 || d[p].radius == NULL);
    for (size_t e = 0; e < d[p].rows && status == CLARKE_OK; e++) {
      clarke_matrix_get(q, &d[p], e, 0);
      if (mpq_sgn(q) != 0)
        status = clarke_row_add(row, clarke_column_base(g, p) + e, q, err);
    }
  }
  mpq_clear(q);
  return status;
}

/* Enclosed rows have long midpoints: 40 leading bits are enough for a guess, and a common scale of
 * the row's largest entry drops what is far below it. */
static void
round_row(clarke_row *row)
{
  long top = -(1L << 30);
  mpz_t z;

  mpz_init(z);
  for (size_t e = 0; e < row->n; e++) {
    long size = (long)mpz_sizeinbase(mpq_numref(row->value[e]), 2) -
                (long)mpz_sizeinbase(mpq_denref(row->value[e]), 2);

    top = size > top ? size : top;
  }
  for (size_t e = 0; e < row->n; e++) {
    mpq_t *q = &row->value[e];
    long shift = 40 - top;

    if (shift >= 0)
      mpz_mul_2exp(mpq_numref(*q), mpq_numref(*q), (unsigned long)shift);
    else
      mpz_mul_2exp(mpq_denref(*q), mpq_denref(*q), (unsigned long)-shift);
    mpz_tdiv_q(z, mpq_numref(*q), mpq_denref(*q));
    mpq_set_z(*q, z);
  }
  mpz_clear(z);
  clarke_row_finish(row);
}

/* <v, difference> as an enclosure: is it certainly positive? */
static bool
certainly_positive(const clarke_row *v, const clarke_matrix *d, const clarke_graph *g)
{
  arb_t sum, term, factor;
  fmpq_t coef;
  mpq_t q;
  bool positive;
  size_t p = 0;

  arb_init(sum);
  arb_init(term);
  arb_init(factor);
  fmpq_init(coef);
  mpq_init(q);
  for (size_t e = 0; e < v->n; e++) {
    size_t entry = clarke_column_entry(&p, v->column[e], g);

    if (d[p].rows == 0)
      continue;
    fmpq_set_mpq(coef, v->value[e]);
    arb_set_fmpq(factor, coef, 256);
    clarke_matrix_get_ball(term, &d[p], entry, 0, 256);
    arb_mul(term, term, factor, 256);
    arb_add(sum, sum, term, 256);
  }
  positive = arb_is_positive(sum);
  arb_clear(sum);
  arb_clear(term);
  arb_clear(factor);
  fmpq_clear(coef);
  mpq_clear(q);
  return positive;
}

static clarke_status
direction_row(clarke_row *v, const clarke_direction *d, const clarke_graph *g, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < d->n && status == CLARKE_OK; i++)
    status = clarke_row_add(v, clarke_column_base(g, d->move[i].parameter) + d->move[i].entry,
                            d->move[i].coef, err);
  clarke_row_finish(v);
  return status;
}

/* A gradient that is AD's own, or n: the strongest answer, which a combination could hide. */
static size_t
own_gradient(const clarke_row *row, bool exact, size_t n)
{
  size_t i = 0;

  while (i < n && (!exact || row[i].n > 0))
    i++;
  return i;
}

/* The cone of the differences AD - gradient i: a direction positive on all separates; Gordan
 * multipliers are a convex combination. */
static clarke_status
decide(clarke_membership *m, clarke_matrix **difference, clarke_row *row, bool exact, size_t n,
       const clarke_graph *g, clarke_error *err)
{
  clarke_cone_answer answer = CLARKE_CONE_UNKNOWN;
  clarke_direction d;
  mpq_t *u = clarke_rationals(n);
  clarke_status status = CLARKE_OK;
  bool outside = true;
  size_t own = own_gradient(row, exact, n);

  if (u == NULL)
    return clarke_no_memory(err);
  clarke_direction_init(&d);
  if (own < n) {
    mpq_set_ui(u[own], 1, 1);
    answer = CLARKE_CONE_EMPTY;
  } else
    status = clarke_system_solve(&answer, &d, u, row, n, g, err);
  if (status == CLARKE_OK && answer == CLARKE_CONE_FEASIBLE) {
    status = direction_row(&m->v, &d, g, err);
    for (size_t i = 0; i < n && status == CLARKE_OK; i++)
      outside = outside && certainly_positive(&m->v, difference[i], g);
    m->place = status == CLARKE_OK && outside ? CLARKE_HULL_OUTSIDE : CLARKE_HULL_UNKNOWN;
  } else if (status == CLARKE_OK && answer == CLARKE_CONE_EMPTY && exact) {
    clarke_weights_normalize(u, n);
    m->weight = u;
    m->place = CLARKE_HULL_INSIDE;
    u = NULL;
  }
  clarke_rationals_free(u, n);
  clarke_direction_clear(&d);
  return status;
}

/* Through softmax, and what proofs make of Sigmoid and Tanh, no gradient counts as rational, though some are (of tanh at
 * 0): the checker takes none back. Through quotients, roots and logarithms it takes what is rational. */
static clarke_status
may_be_rational(bool *may, const clarke_graph *g, clarke_error *err)
{
  bool *carries = malloc(g->n_values + 1);

  if (carries == NULL)
    return clarke_no_memory(err);
  clarke_reverse_carriers(carries, g, CLARKE_NONE);
  *may = true;
  for (size_t i = 0; i < g->n_steps; i++)
    *may = *may && !(carries[g->steps[i].out] &&
                     ((g->steps[i].kind == CLARKE_ANALYTIC && !clarke_step_has_domain(&g->steps[i])) ||
                      g->steps[i].kind == CLARKE_SOFTMAX));
  free(carries);
  return CLARKE_OK;
}

clarke_status
clarke_membership_find(clarke_membership *m, const clarke_question *q, clarke_branch *const *side,
                       size_t n, clarke_error *err)
{
  const clarke_graph *g = q->g;
  clarke_matrix **difference = calloc(n + 1, sizeof *difference);
  clarke_matrix *ad = clarke_matrices_new(g->n_parameters);
  clarke_row *row = malloc((n + 1) * sizeof *row);
  bool exact = true;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; row != NULL && i < n; i++)
    clarke_row_init(&row[i]);
  if (difference == NULL || ad == NULL || row == NULL)
    status = clarke_no_memory(err);
  if (status == CLARKE_OK)
    status = may_be_rational(&exact, g, err);
  if (status == CLARKE_OK)
    status = clarke_partial_gradient(ad, q, NULL, err);
  for (size_t i = 0; i < n && status == CLARKE_OK; i++) {
    clarke_matrix *cell = clarke_matrices_new(g->n_parameters);

    difference[i] = clarke_matrices_new(g->n_parameters);
    if (cell == NULL || difference[i] == NULL)
      status = clarke_no_memory(err);
    if (status == CLARKE_OK)
      status = clarke_partial_gradient(cell, q, side[i], err);
    /* AD - cell = 0 - (cell - AD) */
    if (status == CLARKE_OK)
      status = clarke_gradients_subtract(cell, ad, g, err);
    if (status == CLARKE_OK)
      status = clarke_gradients_subtract(difference[i], cell, g, err);
    clarke_matrices_free(cell, g->n_parameters);
    if (status == CLARKE_OK)
      status = as_row(&row[i], &exact, difference[i], g, err);
  }
  for (size_t i = 0; i < n && status == CLARKE_OK && !exact; i++)
    round_row(&row[i]);
  m->exact = exact;
  if (status == CLARKE_OK && n > 0)
    status = decide(m, difference, row, exact, n, g, err);
  for (size_t i = 0; i < n; i++) {
    if (difference != NULL)
      clarke_matrices_free(difference[i], g->n_parameters);
    if (row != NULL)
      clarke_row_clear(&row[i]);
  }
  free(difference);
  clarke_matrices_free(ad, g->n_parameters);
  free(row);
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_membership_is_valid(m, n));
  return status;
}
