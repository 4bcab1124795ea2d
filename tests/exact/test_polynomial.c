/* Polynomials of the displacement: degrees, and what is past a limit. */
#include "exact/polynomial.h"
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

int
main(void)
{
  TCase *tests = tests_of("polynomial");
  int failed;

  tcase_add_test(tests, degrees);
  tcase_add_test(tests, limits);
  failed = run_tests();
  flint_cleanup_master();
  return failed;
}
