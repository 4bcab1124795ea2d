#include "exact/polynomial.h"
#include "base/room.h"
#include "exact/cone.h"

#include <stdlib.h>
#include <string.h>

void
clarke_polynomial_init(clarke_polynomial *y, const fmpq_mpoly_ctx_t ctx)
{
  y->kept = true;
  fmpq_mpoly_init(y->p, ctx);
}

void
clarke_polynomial_clear(clarke_polynomial *y, const fmpq_mpoly_ctx_t ctx)
{
  fmpq_mpoly_clear(y->p, ctx);
}

static void
limit(clarke_polynomial *y, const fmpq_mpoly_ctx_t ctx)
{
  if (y->kept && fmpq_mpoly_length(y->p, ctx) <= CLARKE_POLYNOMIAL_TERMS &&
      fmpq_mpoly_total_degree_fits_si(y->p, ctx) &&
      fmpq_mpoly_total_degree_si(y->p, ctx) <= CLARKE_POLYNOMIAL_DEGREE)
    return;
  y->kept = false;
  fmpq_mpoly_zero(y->p, ctx);
}

void
clarke_polynomial_add_rational(clarke_polynomial *y, const mpq_t q, const fmpq_mpoly_ctx_t ctx)
{
  fmpq_t f;

  fmpq_init(f);
  fmpq_set_mpq(f, q);
  fmpq_mpoly_add_fmpq(y->p, y->p, f, ctx);
  fmpq_clear(f);
}

void
clarke_polynomial_affine(clarke_polynomial *y, const clarke_number *value,
                         const clarke_number *gradient, size_t width, const fmpq_mpoly_ctx_t ctx)
{
  ulong exponent[CLARKE_POLYNOMIAL_VARIABLES] = {0};
  fmpq_t f;

  y->kept = value->exact && width <= CLARKE_POLYNOMIAL_VARIABLES;
  for (size_t k = 0; gradient != NULL && k < width; k++)
    y->kept = y->kept && gradient[k].exact;
  if (!y->kept)
    return;
  fmpq_init(f);
  fmpq_set_mpq(f, value->q);
  fmpq_mpoly_set_fmpq(y->p, f, ctx);
  for (size_t k = 0; gradient != NULL && k < width; k++) {
    exponent[k] = 1;
    fmpq_set_mpq(f, gradient[k].q);
    fmpq_mpoly_set_coeff_fmpq_ui(y->p, f, exponent, ctx);
    exponent[k] = 0;
  }
  fmpq_clear(f);
}

void
clarke_polynomial_addmul(clarke_polynomial *y, const mpq_t q, const clarke_polynomial *x,
                         const fmpq_mpoly_ctx_t ctx)
{
  fmpq_mpoly_t t;
  fmpq_t f;

  if (mpq_sgn(q) == 0)
    return;
  y->kept = y->kept && x->kept;
  if (y->kept) {
    fmpq_mpoly_init(t, ctx);
    fmpq_init(f);
    fmpq_set_mpq(f, q);
    fmpq_mpoly_scalar_mul_fmpq(t, x->p, f, ctx);
    fmpq_mpoly_add(y->p, y->p, t, ctx);
    fmpq_clear(f);
    fmpq_mpoly_clear(t, ctx);
  }
  limit(y, ctx);
}

void
clarke_polynomial_mul(clarke_polynomial *y, const clarke_polynomial *a, const clarke_polynomial *b,
                      const fmpq_mpoly_ctx_t ctx)
{
  y->kept = a->kept && b->kept &&
            fmpq_mpoly_length(a->p, ctx) * fmpq_mpoly_length(b->p, ctx) <=
              16 * CLARKE_POLYNOMIAL_TERMS;
  if (y->kept)
    fmpq_mpoly_mul(y->p, a->p, b->p, ctx);
  limit(y, ctx);
}

uint8_t
clarke_polynomial_degree(const clarke_polynomial *y, const fmpq_mpoly_ctx_t ctx)
{
  slong degree = y->kept ? fmpq_mpoly_total_degree_si(y->p, ctx) : 2;

  return degree <= 0 ? 0 : degree == 1 ? 1 : 2;
}

/* Is it 0 at some point where the linear form is, other than 0? That costs little, and division much. */
static bool
vanishes(const clarke_polynomial *y, const clarke_number *gradient, size_t width, const fmpq_mpoly_ctx_t ctx)
{
  fmpq *x[CLARKE_POLYNOMIAL_VARIABLES];
  fmpq_t at[CLARKE_POLYNOMIAL_VARIABLES], value, slope, sum;
  size_t k = 0;
  bool zero;

  while (k + 1 < width && mpq_sgn(gradient[k].q) == 0)
    k++;
  fmpq_init(value);
  fmpq_init(slope);
  fmpq_init(sum);
  for (size_t e = 0; e < width; e++) {
    fmpq_init(at[e]);
    x[e] = at[e];
    fmpq_set_si(at[e], e == k ? 0 : 2 * (slong)e + 3, 1);
    fmpq_set_mpq(slope, gradient[e].q);
    fmpq_addmul(sum, slope, at[e]);
  }
  fmpq_set_mpq(slope, gradient[k].q);
  fmpq_div(at[k], sum, slope);
  fmpq_neg(at[k], at[k]);
  zero = fmpq_mpoly_evaluate_all_fmpq(value, y->p, x, ctx) != 0 && fmpq_is_zero(value);
  for (size_t e = 0; e < width; e++)
    fmpq_clear(at[e]);
  fmpq_clear(sum);
  fmpq_clear(slope);
  fmpq_clear(value);
  return zero;
}

bool
clarke_polynomial_has_linear_factor(const clarke_polynomial *y, const clarke_number *gradient, size_t width, const fmpq_mpoly_ctx_t ctx)
{
  clarke_number zero;
  clarke_polynomial linear;
  fmpq_mpoly_t quotient;
  bool divides = false;

  clarke_number_init(&zero);
  clarke_polynomial_init(&linear, ctx);
  fmpq_mpoly_init(quotient, ctx);
  clarke_polynomial_affine(&linear, &zero, gradient, width, ctx);
  if (y->kept && linear.kept && !fmpq_mpoly_is_zero(linear.p, ctx) && vanishes(y, gradient, width, ctx))
    divides = fmpq_mpoly_divides(quotient, y->p, linear.p, ctx) != 0;
  fmpq_mpoly_clear(quotient, ctx);
  clarke_polynomial_clear(&linear, ctx);
  clarke_number_clear(&zero);
  return divides;
}

/* --- refutation: columns are the monomials that occur ------------------------------------------ */

typedef struct {
  size_t width, n, capacity;
  ulong *exponent; /* n x width */
} monomials;

/* The column of a monomial, added when it is new; CLARKE_ENOMEM as SIZE_MAX. */
static size_t
column(monomials *m, const ulong *exponent)
{
  size_t c = 0;

  while (c < m->n && memcmp(m->exponent + c * m->width, exponent, m->width * sizeof *exponent))
    c++;
  if (c < m->n)
    return c;
  if (!clarke_room(&m->exponent, &m->capacity, m->n + 1, m->width * sizeof *m->exponent))
    return SIZE_MAX;
  memcpy(m->exponent + m->n * m->width, exponent, m->width * sizeof *exponent);
  return m->n++;
}

static bool
is_square(const monomials *m, size_t c)
{
  for (size_t k = 0; k < m->width; k++)
    if (m->exponent[c * m->width + k] % 2 != 0)
      return false;
  return true;
}

static bool
collect(monomials *m, clarke_polynomial *const *q, size_t n, const fmpq_mpoly_ctx_t ctx)
{
  ulong *exponent = malloc((m->width + 1) * sizeof *exponent);
  bool done = exponent != NULL;

  for (size_t k = 0; k < n && done; k++)
    for (slong t = 0; t < fmpq_mpoly_length(q[k]->p, ctx) && done; t++) {
      fmpq_mpoly_get_term_exp_ui(exponent, q[k]->p, t, ctx);
      done = column(m, exponent) != SIZE_MAX;
    }
  free(exponent);
  return done;
}

/* Row k of a: the coefficients of q times their common denominator. */
static void
set_row(fmpz_mat_t a, slong k, fmpz_t denominator, const clarke_polynomial *q, monomials *m,
        const fmpq_mpoly_ctx_t ctx)
{
  ulong *exponent = malloc((m->width + 1) * sizeof *exponent);
  slong length = fmpq_mpoly_length(q->p, ctx);
  fmpq_t f;
  fmpz_t t;

  if (exponent == NULL)
    return; /* a row of zeros refutes nothing by itself: the caller verifies */
  fmpq_init(f);
  fmpz_init(t);
  fmpz_one(denominator);
  for (slong i = 0; i < length; i++) {
    fmpq_mpoly_get_term_coeff_fmpq(f, q->p, i, ctx);
    fmpz_lcm(denominator, denominator, fmpq_denref(f));
  }
  for (slong i = 0; i < length; i++) {
    fmpq_mpoly_get_term_coeff_fmpq(f, q->p, i, ctx);
    fmpq_mpoly_get_term_exp_ui(exponent, q->p, i, ctx);
    fmpz_divexact(t, denominator, fmpq_denref(f));
    fmpz_mul(fmpz_mat_entry(a, k, (slong)column(m, exponent)), t, fmpq_numref(f));
  }
  fmpz_clear(t);
  fmpq_clear(f);
  free(exponent);
}

/* Is every monomial of sum u_k q_k a square with a coefficient <= 0? */
static bool
holds(mpq_t *u, clarke_polynomial *const *q, size_t n, monomials *m, const fmpq_mpoly_ctx_t ctx)
{
  ulong *exponent = malloc((m->width + 1) * sizeof *exponent);
  clarke_polynomial sum;
  bool right = exponent != NULL, some = false;
  fmpq_t f;

  clarke_polynomial_init(&sum, ctx);
  fmpq_init(f);
  for (size_t k = 0; k < n; k++) {
    some = some || mpq_sgn(u[k]) > 0;
    right = right && mpq_sgn(u[k]) >= 0;
    clarke_polynomial_addmul(&sum, u[k], q[k], ctx);
  }
  right = right && some && sum.kept;
  for (slong t = 0; right && t < fmpq_mpoly_length(sum.p, ctx); t++) {
    fmpq_mpoly_get_term_exp_ui(exponent, sum.p, t, ctx);
    fmpq_mpoly_get_term_coeff_fmpq(f, sum.p, t, ctx);
    right = fmpq_sgn(f) <= 0 && is_square(m, column(m, exponent));
  }
  fmpq_clear(f);
  clarke_polynomial_clear(&sum, ctx);
  free(exponent);
  return right;
}

clarke_status
clarke_polynomials_refute(bool *refuted, mpq_t *u, clarke_polynomial *const *q, size_t n,
                          size_t width, const fmpq_mpoly_ctx_t ctx, clarke_error *err)
{
  monomials m = {.width = width};
  size_t squares = 0;
  fmpz_mat_t a;
  fmpz_t *denominator = malloc((n + 1) * sizeof *denominator);
  clarke_cone cone;
  clarke_status status;

  *refuted = false;
  if (denominator == NULL || !collect(&m, q, n, ctx)) {
    free(denominator);
    free(m.exponent);
    return clarke_no_memory(err);
  }
  for (size_t c = 0; c < m.n; c++)
    squares += is_square(&m, c);
  fmpz_mat_init(a, (slong)(n + squares), (slong)m.n);
  for (size_t k = 0; k < n; k++) {
    fmpz_init(denominator[k]);
    set_row(a, (slong)k, denominator[k], q[k], &m, ctx);
  }
  squares = 0;
  for (size_t c = 0; c < m.n; c++)
    if (is_square(&m, c))
      fmpz_one(fmpz_mat_entry(a, (slong)(n + squares++), (slong)c));
  clarke_cone_init(&cone);
  status = clarke_cone_solve(&cone, a, CLARKE_CONE_LITTLE_WORK, err);
  if (status == CLARKE_OK && cone.answer == CLARKE_CONE_EMPTY) {
    for (size_t k = 0; k < n; k++) {
      fmpz_mul(denominator[k], denominator[k], fmpz_mat_entry(cone.u, (slong)k, 0));
      fmpz_get_mpz(mpq_numref(u[k]), denominator[k]);
      mpz_set_ui(mpq_denref(u[k]), 1);
    }
    *refuted = holds(u, q, n, &m, ctx);
  }
  clarke_cone_clear(&cone);
  fmpz_mat_clear(a);
  for (size_t k = 0; k < n; k++)
    fmpz_clear(denominator[k]);
  free(denominator);
  free(m.exponent);
  return status;
}
