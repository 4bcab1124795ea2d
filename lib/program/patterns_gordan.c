/* Refutations of a branch: a Gordan vector of linear decisions, or an identity between polynomials. */
#include "program/patterns_inside.h"

#include <stdlib.h>
#include <string.h>

#define ROW_WORK 8 /* of a row beside its entries: it is made, and freed */

/* Row r of a as the integers of a gradient (midpoints of balls) times their common denominator,
 * which is returned. */
static void
set_row(fmpz_mat_t a, slong r, mpz_t denominator, const clarke_decision *row, size_t width)
{
  mpq_t q;
  mpz_t t;

  mpq_init(q);
  mpz_init(t);
  mpz_set_ui(denominator, 1);
  for (size_t k = 0; k < width; k++) {
    clarke_number_middle(q, &row->gradient[k]);
    mpz_lcm(denominator, denominator, mpq_denref(q));
  }
  for (size_t k = 0; k < width; k++) {
    clarke_number_middle(q, &row->gradient[k]);
    mpz_divexact(t, denominator, mpq_denref(q));
    mpz_mul(t, t, mpq_numref(q));
    fmpz_set_mpz(fmpz_mat_entry(a, r, (slong)k), t);
  }
  mpz_clear(t);
  mpq_clear(q);
}

/* u multiplies integer rows, which are the rational ones times their denominators. */
static clarke_status
read_empty(clarke_search_cone *r, const clarke_cone *cone, const size_t *name, mpz_t *denominator, size_t n, clarke_error *err)
{
  mpq_t *u = clarke_rationals(n);
  clarke_status status;

  for (size_t i = 0; u != NULL && i < n; i++) {
    fmpz_get_mpz(mpq_numref(u[i]), fmpz_mat_entry(cone->u, (slong)i, 0));
    mpz_mul(mpq_numref(u[i]), mpq_numref(u[i]), denominator[i]);
  }
  status = u != NULL ? clarke_gordan_read(&r->gordan, u, name, NULL, n, err) : clarke_no_memory(err);
  clarke_rationals_free(u, n);
  return status;
}

static clarke_status
read_feasible(clarke_search_cone *r, const clarke_cone *cone, size_t width, clarke_error *err)
{
  r->d = clarke_rationals(width);
  if (r->d == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < width; k++)
    fmpz_get_mpz(mpq_numref(r->d[k]), fmpz_mat_entry(cone->d, (slong)k, 0));
  return CLARKE_OK;
}

clarke_status
clarke_search_solve(clarke_search_cone *r, clarke_pattern_search *s, bool linear_only, clarke_error *err)
{
  size_t n = 0, *name = malloc((s->n_rows + 1) * sizeof *name);
  mpz_t *denominator = malloc((s->n_rows + 1) * sizeof *denominator);
  clarke_cone cone;
  fmpz_mat_t a;
  clarke_status status;

  memset(r, 0, sizeof *r);
  if (name == NULL || denominator == NULL) {
    free(name);
    free(denominator);
    return clarke_no_memory(err);
  }
  for (size_t i = 0; i < s->n_rows; i++)
    if (!linear_only || s->row[i].linear)
      name[n++] = i;
  s->work += n * (ROW_WORK + s->width * (n < s->width ? n : s->width));
  fmpz_mat_init(a, (slong)n, (slong)s->width);
  for (size_t i = 0; i < n; i++) {
    mpz_init(denominator[i]);
    set_row(a, (slong)i, denominator[i], &s->row[name[i]], s->width);
  }
  clarke_cone_init(&cone);
  status = clarke_cone_solve(&cone, a, CLARKE_CONE_LITTLE_WORK, err);
  r->answer = cone.answer;
  if (status == CLARKE_OK && cone.answer == CLARKE_CONE_FEASIBLE)
    status = read_feasible(r, &cone, s->width, err);
  if (status == CLARKE_OK && cone.answer == CLARKE_CONE_EMPTY)
    status = read_empty(r, &cone, name, denominator, n, err);
  clarke_cone_clear(&cone);
  fmpz_mat_clear(a);
  for (size_t i = 0; i < n; i++)
    mpz_clear(denominator[i]);
  free(denominator);
  free(name);
  return status;
}

/* A refutation of the path by an identity between polynomials, where some decision is one. */
static clarke_status
refute_polynomials(clarke_search_branch *b, clarke_pattern_search *s, clarke_error *err)
{
  clarke_polynomial **q = calloc(s->n_rows + 1, sizeof *q);
  clarke_polynomial *made = calloc(s->n_rows + 1, sizeof *made);
  size_t *name = malloc((s->n_rows + 1) * sizeof *name), n = 0, curved = 0;
  mpq_t *u = clarke_rationals(s->n_rows);
  clarke_number zero;
  clarke_status status = CLARKE_OK;

  clarke_number_init(&zero);
  if (q == NULL || made == NULL || name == NULL || u == NULL)
    status = clarke_no_memory(err);
  for (size_t i = 0; i < s->n_rows && status == CLARKE_OK; i++)
    curved += s->row[i].q != NULL;
  for (size_t i = 0; i < s->n_rows && status == CLARKE_OK && curved > 0; i++) {
    if (!s->row[i].affine && s->row[i].q == NULL)
      continue;
    clarke_polynomial_init(&made[n], s->walk.ring);
    if (s->row[i].affine)
      clarke_polynomial_affine(&made[n], &zero, s->row[i].gradient, s->width, s->walk.ring);
    q[n] = s->row[i].affine ? &made[n] : s->row[i].q;
    name[n++] = i;
  }
  if (status == CLARKE_OK && curved > 0)
    status = clarke_polynomials_refute(&b->refuted, u, q, n, s->width, s->walk.ring, err);
  if (status == CLARKE_OK && b->refuted)
    status = clarke_gordan_read(&b->gordan, u, name, NULL, n, err);
  for (size_t i = 0; i < n; i++)
    clarke_polynomial_clear(&made[i], s->walk.ring);
  clarke_number_clear(&zero);
  clarke_rationals_free(u, s->n_rows);
  free(name);
  free(made);
  free(q);
  return status;
}

clarke_status
clarke_search_judge(clarke_search_branch *b, clarke_pattern_search *s, size_t choice, clarke_error *err)
{
  size_t before = s->n_rows;
  bool linear = false;
  clarke_search_cone r;
  clarke_status status = clarke_search_decide(s, choice, err);

  for (size_t i = before; i < s->n_rows; i++)
    linear |= s->row[i].linear;
  b->depth = s->n_rows;
  if (status == CLARKE_OK && (s->witness == NULL || !clarke_search_positive(s, s->witness, before, true))) {
    if (linear || s->witness == NULL) {
      status = clarke_search_solve(&r, s, true, err);
      b->refuted = r.answer == CLARKE_CONE_EMPTY;
      b->gordan = r.gordan;
      b->witness = r.d;
    }
  } else if (status == CLARKE_OK) {
    b->witness = clarke_rationals(s->width);
    if (b->witness == NULL)
      status = clarke_no_memory(err);
    for (size_t k = 0; k < s->width && status == CLARKE_OK; k++)
      mpq_set(b->witness[k], s->witness[k]);
  }
  if (status == CLARKE_OK && !b->refuted)
    status = refute_polynomials(b, s, err);
  clarke_search_drop(s, before);
  return status;
}
