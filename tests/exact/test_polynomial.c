/* Polynomials of the displacement: degrees, what is past a limit, and what cannot all be positive. */
#include "exact/polynomial.h"
#include "../draw.h"
#include "../suite.h"

static clarke_polynomial x, y, z;
static fmpq_mpoly_ctx_t ring;

/* x is the first variable plus 2, y three times the second; z is zero. */
static void
begin(void)
{
  clarke_number value, *gradient = clarke_numbers(2);

  fmpq_mpoly_ctx_init(ring, 2, ORD_LEX);
  clarke_number_init(&value);
  clarke_polynomial_init(&x, ring);
  clarke_polynomial_init(&y, ring);
  clarke_polynomial_init(&z, ring);
  clarke_number_set_si(&value, 2);
  clarke_number_set_si(&gradient[0], 1);
  clarke_polynomial_affine(&x, &value, gradient, 2, ring);
  clarke_number_set_si(&value, 0);
  clarke_number_set_si(&gradient[0], 0);
  clarke_number_set_si(&gradient[1], 3);
  clarke_polynomial_affine(&y, &value, gradient, 2, ring);
  clarke_number_clear(&value);
  clarke_numbers_free(gradient, 2);
}

static void
end(void)
{
  clarke_polynomial_clear(&x, ring);
  clarke_polynomial_clear(&y, ring);
  clarke_polynomial_clear(&z, ring);
  fmpq_mpoly_ctx_clear(ring);
}

static void
add_multiple(clarke_polynomial *to, long q, const clarke_polynomial *p)
{
  mpq_t number;

  mpq_init(number);
  mpq_set_si(number, q, 1);
  clarke_polynomial_addmul(to, number, p, ring);
  mpq_clear(number);
}

START_TEST(degrees)
{
  mpq_t two_less;

  begin();
  mpq_init(two_less);
  mpq_set_si(two_less, -2, 1);
  ck_assert_uint_eq(clarke_polynomial_degree(&z, ring), 0);
  ck_assert_uint_eq(clarke_polynomial_degree(&x, ring), 1);
  ck_assert_uint_eq(clarke_polynomial_degree(&y, ring), 1);
  clarke_polynomial_mul(&z, &x, &y, ring);
  ck_assert_uint_eq(clarke_polynomial_degree(&z, ring), 2);
  clarke_polynomial_clear(&y, ring); /* x x - x (x - 2) = 2 x is affine, less 2 x constant */
  clarke_polynomial_init(&y, ring);
  add_multiple(&y, 1, &x);
  clarke_polynomial_add_rational(&y, two_less, ring);
  clarke_polynomial_mul(&y, &x, &y, ring);
  clarke_polynomial_mul(&z, &x, &x, ring);
  add_multiple(&z, -1, &y);
  ck_assert_uint_eq(clarke_polynomial_degree(&z, ring), 1);
  add_multiple(&z, -2, &x);
  ck_assert_uint_eq(clarke_polynomial_degree(&z, ring), 0);
  mpq_clear(two_less);
  end();
}
END_TEST

/* What is not kept has no degree that could be relied on. */
START_TEST(limits)
{
  begin();
  add_multiple(&z, 1, &x);
  for (int i = 1; i < CLARKE_POLYNOMIAL_DEGREE; i++)
    clarke_polynomial_mul(&z, &z, &y, ring);
  ck_assert(z.kept);
  clarke_polynomial_mul(&z, &z, &y, ring);
  ck_assert(!z.kept);
  ck_assert_uint_eq(clarke_polynomial_degree(&z, ring), 2);
  clarke_polynomial_mul(&x, &x, &z, ring);
  ck_assert(!x.kept);
  end();
}
END_TEST

/* --- refutations ----------------------------------------------------------------------------- */

enum { MOST = 3 };

/* c_0 + c_1 x + c_2 y + c_3 x^2 + c_4 x y + c_5 y^2 */
static const ulong power[6][2] = { { 0, 0 }, { 1, 0 }, { 0, 1 }, { 2, 0 }, { 1, 1 }, { 0, 2 } };

static long
value_at(const long *c, long a, long b)
{
  return c[0] + c[1] * a + c[2] * b + c[3] * a * a + c[4] * a * b + c[5] * b * b;
}

/* Are all but squares gone from sum u_k q_k, and has no square a coefficient above 0? */
static bool
proves(mpq_t *u, long (*c)[6], size_t n)
{
  bool right = true, some = false;
  mpq_t sum, term;

  mpq_inits(sum, term, NULL);
  for (size_t t = 0; t < 6; t++) {
    mpq_set_ui(sum, 0, 1);
    for (size_t k = 0; k < n; k++) {
      mpq_set_si(term, c[k][t], 1);
      mpq_mul(term, term, u[k]);
      mpq_add(sum, sum, term);
      right = right && mpq_sgn(u[k]) >= 0;
      some = some || mpq_sgn(u[k]) > 0;
    }
    right = right && (t == 0 || t == 3 || t == 5 ? mpq_sgn(sum) <= 0 : mpq_sgn(sum) == 0);
  }
  mpq_clears(sum, term, NULL);
  return right && some;
}

/* Is there a proof with small multipliers? */
static bool
by_trying(long (*c)[6], size_t n)
{
  mpq_t *u = clarke_rationals(MOST);
  bool found = false;

  for (long k = 1; k < 216 && !found; k++) {
    long rest = k;

    for (size_t i = 0; i < MOST; i++, rest /= 6)
      mpq_set_si(u[i], i < n ? rest % 6 : 0, 1);
    found = proves(u, c, n);
  }
  clarke_rationals_free(u, MOST);
  return found;
}

static bool
refute(mpq_t *u, long (*c)[6], size_t n)
{
  clarke_polynomial q[MOST], *list[MOST];
  bool refuted = true;
  fmpq_t coef;

  fmpq_init(coef);
  fmpq_mpoly_ctx_init(ring, 2, ORD_LEX);
  for (size_t k = 0; k < n; k++) {
    clarke_polynomial_init(&q[k], ring);
    for (size_t t = 0; t < 6; t++) {
      fmpq_set_si(coef, c[k][t], 1);
      fmpq_mpoly_set_coeff_fmpq_ui(q[k].p, coef, power[t], ring);
    }
    list[k] = &q[k];
  }
  ck_assert_int_eq(clarke_polynomials_refute(&refuted, u, list, n, 2, ring, NULL), CLARKE_OK);
  for (size_t k = 0; k < n; k++)
    clarke_polynomial_clear(&q[k], ring);
  fmpq_mpoly_ctx_clear(ring);
  fmpq_clear(coef);
  return refuted;
}

/* What is refuted is positive nowhere, by multipliers that prove it; what small multipliers prove is refuted. */
START_TEST(refutations)
{
  uint64_t state = 1;
  size_t refuted = 0, kept = 0;

  for (int round = 0; round < 600; round++) {
    const size_t n = 1 + draw_below(&state, MOST);
    mpq_t *u = clarke_rationals(MOST);
    long c[MOST][6];

    for (size_t k = 0; k < n; k++)
      for (size_t t = 0; t < 6; t++)
        c[k][t] = draw_below(&state, 2) == 0 ? 0 : draw_between(&state, -2, t == 0 ? 0 : 2);
    if (refute(u, c, n)) {
      refuted++;
      ck_assert(proves(u, c, n));
      for (long a = -5; a <= 5; a++)
        for (long b = -5; b <= 5; b++) {
          bool all = true;

          for (size_t k = 0; k < n; k++)
            all = all && value_at(c[k], a, b) > 0;
          ck_assert(!all);
        }
    } else {
      kept++;
      ck_assert(!by_trying(c, n));
    }
    clarke_rationals_free(u, MOST);
  }
  ck_assert(refuted > 50 && kept > 50);
}
END_TEST

/* (a + 2) 3 b is 6 b times 1 + a / 2; with b^2 more it still is 6 b times something, and with a^2 more it is not. */
START_TEST(linear_factors)
{
  clarke_number *gradient = clarke_numbers(2);
  clarke_polynomial square;

  begin();
  clarke_polynomial_init(&square, ring);
  clarke_polynomial_mul(&z, &x, &y, ring);
  ck_assert(!clarke_polynomial_has_linear_factor(&z, gradient, 2, ring));
  clarke_number_set_si(&gradient[1], 6);
  ck_assert(clarke_polynomial_has_linear_factor(&z, gradient, 2, ring));
  clarke_polynomial_mul(&square, &y, &y, ring);
  add_multiple(&z, 1, &square);
  ck_assert(clarke_polynomial_has_linear_factor(&z, gradient, 2, ring));
  clarke_number_set_si(&gradient[0], 1);
  ck_assert(!clarke_polynomial_has_linear_factor(&z, gradient, 2, ring));
  clarke_number_set_si(&gradient[0], 0);
  clarke_polynomial_mul(&square, &x, &x, ring);
  add_multiple(&z, 1, &square);
  ck_assert(!clarke_polynomial_has_linear_factor(&z, gradient, 2, ring));
  z.kept = false;
  ck_assert(!clarke_polynomial_has_linear_factor(&z, gradient, 2, ring));
  clarke_polynomial_clear(&square, ring);
  clarke_numbers_free(gradient, 2);
  end();
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("polynomial");
  int failed;

  tcase_add_test(tests, degrees);
  tcase_add_test(tests, limits);
  tcase_add_test(tests, refutations);
  tcase_add_test(tests, linear_factors);
  failed = run_tests();
  flint_cleanup_master();
  return failed;
}
