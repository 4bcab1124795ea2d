/* Upper bounds against the numbers that they bound, in rationals: never below, and hardly above. */
#include "exact/matrix_inside.h"
#include "exact/upward.h"
#include "samples.h"
#include "../suite.h"

#include <limits.h>

static uint64_t state;

/* A nonnegative double: 0, the smallest and largest ones, or any. */
static double
draw_double(void)
{
  static const double special[] = { 0, CLARKE_TINY, 3 * CLARKE_TINY, DBL_MIN, DBL_MIN - CLARKE_TINY, 1,
                                    1 + DBL_EPSILON, DBL_MAX, INFINITY };
  const size_t n = sizeof special / sizeof *special, k = draw_below(&state, 2 * n);
  const double m = (double)(draw(&state) >> 11);

  if (k < n)
    return special[k];
  return k % 2 ? ldexp(m, (int)draw_below(&state, 2046) - 1074) : ldexp(m, (int)draw_below(&state, 80) - 90);
}

/* exact <= bound <= exact (1 + 2^-49) + a few of the smallest doubles, where exact has room below infinity. */
static void
assert_bounds(double bound, const mpq_t exact)
{
  mpq_t low, most, part;
  bool good = bound >= 0;

  mpq_inits(low, most, part, NULL);
  mpq_set_d(part, 0x1p-49);
  mpq_mul(most, exact, part);
  mpq_add(most, most, exact);
  mpq_set_d(part, 4 * CLARKE_TINY);
  mpq_add(most, most, part);
  if (isfinite(bound)) {
    mpq_set_d(low, bound);
    good = good && mpq_cmp(low, exact) >= 0 && mpq_cmp(low, most) <= 0;
  } else {
    mpq_set_d(low, DBL_MAX);
    good = good && mpq_cmp(most, low) > 0;
  }
  if (!good)
    ck_abort_msg("%a is no good bound of %g", bound, mpq_get_d(exact));
  mpq_clears(low, most, part, NULL);
}

START_TEST(sums_and_products)
{
  mpq_t x, y, z;

  state = 1;
  mpq_inits(x, y, z, NULL);
  for (int round = 0; round < 20000; round++) {
    const double a = draw_double(), b = draw_double();

    if (isinf(a) || isinf(b)) {
      ck_assert(isinf(clarke_up_add(a, b)));
      ck_assert(a == 0 || b == 0 ? clarke_up_mul(a, b) == 0 : isinf(clarke_up_mul(a, b)));
      continue;
    }
    mpq_set_d(x, a);
    mpq_set_d(y, b);
    mpq_add(z, x, y);
    assert_bounds(clarke_up_add(a, b), z);
    mpq_mul(z, x, y);
    assert_bounds(clarke_up_mul(a, b), z);
  }
  mpq_clears(x, y, z, NULL);
}
END_TEST

/* Zero stays zero: what is exact is not given a radius. */
START_TEST(zeros)
{
  ck_assert(clarke_up_add(0, 0) == 0 && clarke_up_add(0, 0.1) == 0.1 && clarke_up_add(0.1, 0) == 0.1);
  ck_assert(clarke_up_mul(0, 7) == 0 && clarke_up_mul(INFINITY, 0) == 0);
  ck_assert(clarke_up_ldexp(0, 4000) == 0 && clarke_up_ldexp(0, LONG_MAX) == 0);
}
END_TEST

/* x = a 2^e */
static void
scaled(mpq_t x, double a, long e)
{
  mpq_set_d(x, a);
  if (e >= 0)
    mpq_mul_2exp(x, x, (mp_bitcnt_t)e);
  else
    mpq_div_2exp(x, x, (mp_bitcnt_t)-e);
}

START_TEST(powers_of_two)
{
  mpq_t x;

  state = 2;
  mpq_init(x);
  for (int round = 0; round < 20000; round++) {
    const double a = draw_double();
    const long e = (long)draw_below(&state, 4400) - 2200;
    const double bound = isinf(a) ? 0 : clarke_up_ldexp(a, e);

    if (isinf(a)) {
      ck_assert(isinf(clarke_up_ldexp(a, e)));
      continue;
    }
    scaled(x, a, e);
    assert_bounds(bound, x);
    if (bound >= 2 * DBL_MIN && isfinite(bound)) /* nothing was rounded */
      ck_assert(bound == ldexp(a, (int)e));
  }
  ck_assert(isinf(clarke_up_ldexp(CLARKE_TINY, LONG_MAX)));
  ck_assert(clarke_up_ldexp(DBL_MAX, LONG_MIN) == CLARKE_TINY);
  mpq_clear(x);
}
END_TEST

/* A rational of such a size, and of up to `bits` bits. */
static void
draw_rational(mpq_t q, size_t bits)
{
  sample_integer(mpq_numref(q), &state, bits);
  sample_integer(mpq_denref(q), &state, bits);
  mpz_abs(mpq_denref(q), mpq_denref(q));
  mpz_add_ui(mpq_denref(q), mpq_denref(q), mpz_sgn(mpq_denref(q)) == 0);
  mpq_canonicalize(q);
}

START_TEST(rationals)
{
  mpq_t q;

  state = 3;
  mpq_init(q);
  for (int round = 0; round < 10000; round++) {
    double bound;

    draw_rational(q, round % 3 == 0 ? 1200 : 130);
    bound = clarke_up_rational(q);
    mpq_abs(q, q);
    assert_bounds(bound, q);
    ck_assert((bound == 0) == (mpq_sgn(q) == 0));
  }
  mpq_clear(q);
}
END_TEST

/* The magnitudes of entries, under scales with and without a denominator. */
START_TEST(magnitudes)
{
  clarke_matrix m;
  mpz_t z, den;
  mpq_t q;

  state = 4;
  clarke_matrix_init(&m);
  mpz_inits(z, den, NULL);
  mpq_init(q);
  for (int round = 0; round < 3000; round++) {
    const long exp = (long)draw_below(&state, 3000) - 1500;

    ck_assert_int_eq(clarke_matrix_resize(&m, 1, 3, 1 + draw_below(&state, 3), NULL), CLARKE_OK);
    sample_integer(den, &state, round % 2 == 0 ? 0 : 100);
    mpz_setbit(den, 0);
    mpz_abs(den, den);
    ck_assert_int_eq(clarke_matrix_set_scale(&m, exp, den, NULL), CLARKE_OK);
    for (size_t j = 0; j < 3; j++) {
      sample_integer(z, &state, 300);
      ck_assert_int_eq(clarke_matrix_store(&m, 0, j, z, NULL), CLARKE_OK);
    }
    for (size_t j = 0; j < 3; j++) {
      clarke_matrix_get(q, &m, 0, j);
      mpq_abs(q, q);
      assert_bounds(clarke_matrix_magnitude(&m, clarke_matrix_scale_bound(&m), j), q);
    }
  }
  clarke_matrix_clear(&m);
  mpz_clears(z, den, NULL);
  mpq_clear(q);
}
END_TEST

/* --- several roundings --- */

/* x becomes what the operation makes of it exactly. */
static void
operate_exactly(mpq_t x, size_t operation, double by)
{
  mpq_t b;

  mpq_init(b);
  mpq_set_d(b, by);
  if (operation == 0)
    mpq_add(x, x, b);
  else if (operation == 1)
    mpq_mul(x, x, b);
  else
    mpq_div(x, x, b);
  mpq_clear(b);
}

static double
operate(size_t operation, double v, double by)
{
  return operation == 0 ? v + by : operation == 1 ? v * by : v / by;
}

/* By how much of itself the operation is rounded down. */
static double
lost(size_t operation, double v, double by)
{
  mpq_t x, y;
  double part;

  mpq_inits(x, y, NULL);
  mpq_set_d(x, v);
  operate_exactly(x, operation, by);
  mpq_set_d(y, operate(operation, v, by));
  mpq_sub(y, x, y);
  mpq_div(y, y, x);
  part = mpq_get_d(y);
  mpq_clears(x, y, NULL);
  return part;
}

/* One more rounding: of some that are drawn the one that goes farthest down, or up. */
static double
step_away(mpq_t exact, double v, bool down)
{
  double by = 1, farthest = -1;
  size_t operation = 1;

  for (size_t k = 0; k < 8; k++) {
    const double other = ldexp(1 + (double)(draw(&state) >> 12) * 0x1p-52, (int)draw_below(&state, 3) - 1);
    const size_t how = draw_below(&state, 3);
    const double part = (down ? 1 : -1) * lost(how, v, other);

    if (part > farthest) {
      farthest = part;
      by = other;
      operation = how;
    }
  }
  operate_exactly(exact, operation, by);
  return operate(operation, v, by);
}

static bool
is_at_least(double bound, const mpq_t exact)
{
  bool is;
  mpq_t b;

  if (isinf(bound))
    return bound > 0;
  mpq_init(b);
  mpq_set_d(b, bound);
  is = mpq_cmp(b, exact) >= 0;
  mpq_clear(b);
  return is;
}

/* Roundings that all go one way, and factors that make up for them: no less than half of one is taken by them. */
START_TEST(several_roundings)
{
  double worst = 0;
  mpq_t exact, v;

  state = 5;
  mpq_inits(exact, v, NULL);
  for (int round = 0; round < 600; round++) {
    const bool down = round % 2 == 0;
    const size_t n = 1 + draw_below(&state, round % 3 == 0 ? 3 : 30);
    double x = 1 + (double)(draw(&state) >> 12) * 0x1p-52;

    mpq_set_d(exact, x);
    for (size_t k = 0; k < n; k++)
      x = step_away(exact, x, down);
    ck_assert(is_at_least(clarke_up_by(x, (double)n), exact) && is_at_least(clarke_up_over(x, (double)n, 0x1p-900), exact));
    mpq_set_d(v, x);
    mpq_sub(v, exact, v);
    mpq_div(v, v, exact);
    if (n > 3)
      worst = fmax(worst, mpq_get_d(v) / ((double)n * CLARKE_UNIT));
    mpq_neg(exact, exact);
    ck_assert(is_at_least(-clarke_down_by(x, (double)n), exact));
  }
  ck_assert(worst > 0.5);
  mpq_clears(exact, v, NULL);
}
END_TEST

/* Sums of numbers of both signs, and of squares that may underflow. */
START_TEST(sums_of_many)
{
  mpq_t exact, term, mass;

  state = 6;
  mpq_inits(exact, term, mass, NULL);
  for (int round = 0; round < 2000; round++) {
    const size_t n = 1 + draw_below(&state, 20);
    double sum = 0, size = 0, squares = 0;

    mpq_set_ui(exact, 0, 1);
    mpq_set_ui(mass, 0, 1);
    for (size_t k = 0; k < n; k++) {
      const double x = ldexp((double)(draw(&state) >> 11) - 0x1p52, (int)draw_below(&state, 40) - (round % 2 == 0 ? 60 : 580));

      sum += x;
      size += fabs(x);
      squares += x * x;
      mpq_set_d(term, x);
      mpq_add(exact, exact, term);
      mpq_mul(term, term, term);
      mpq_add(mass, mass, term);
    }
    mpq_set_d(term, sum);
    mpq_sub(exact, exact, term);
    mpq_abs(exact, exact);
    ck_assert(is_at_least(clarke_taken((double)n, size), exact));
    mpq_set_d(term, clarke_up_root(squares, n));
    mpq_mul(term, term, term);
    ck_assert(mpq_cmp(term, mass) >= 0);
  }
  mpq_clears(exact, term, mass, NULL);
}
END_TEST

/* n unit / (1 - n unit) in rationals. */
static void
gamma_of(mpq_t gamma, size_t n, double unit)
{
  mpq_t x;

  mpq_init(x);
  mpq_set_d(x, unit);
  mpq_set_ui(gamma, n, 1);
  mpq_mul(gamma, gamma, x);
  mpq_set_ui(x, 1, 1);
  mpq_sub(x, x, gamma);
  mpq_div(gamma, gamma, x);
  mpq_clear(x);
}

START_TEST(what_operations_take)
{
  mpq_t gamma;

  state = 7;
  mpq_init(gamma);
  for (int round = 0; round < 2000; round++) {
    const size_t n = 1 + draw_below(&state, (size_t)1 << (1 + draw_below(&state, 31))), few = 1 + draw_below(&state, (size_t)1 << 20);

    gamma_of(gamma, n, CLARKE_UNIT);
    ck_assert(is_at_least(clarke_gamma((double)n, CLARKE_UNIT), gamma));
    gamma_of(gamma, few, 0x1p-24);
    ck_assert(is_at_least(clarke_gamma_of_many((double)few + 4, 0x1p-24), gamma));
  }
  gamma_of(gamma, (size_t)1 << 32, CLARKE_UNIT);
  ck_assert(is_at_least(clarke_gamma(0x1p32, CLARKE_UNIT), gamma));
  mpq_clear(gamma);
}
END_TEST

START_TEST(conversions)
{
  mpq_t q;

  state = 8;
  mpq_init(q);
  for (int round = 0; round < 4000; round++) {
    double v;

    draw_rational(q, 130);
    mpq_abs(q, q);
    v = mpq_get_d(q);
    ck_assert(is_at_least(clarke_above(v), q) && clarke_below(clarke_above(v)) == v && (v == 0 || is_at_least(clarke_up_by(v, 2), q)));
    ck_assert(is_at_least((double)clarke_up_float(v), q));
    ck_assert((double)clarke_least_float(v) >= v && (double)nextafterf(clarke_least_float(v), -INFINITY) < v);
    ck_assert((double)clarke_least_float(-v) >= -v);
  }
  ck_assert(isinf(clarke_up_float(NAN)) && isinf(clarke_up_float(0x1p128)) && clarke_up_factor(3) == 1 + 0x1p-51 + 0x1p-52);
  mpq_clear(q);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("upward");

  tcase_add_test(tests, sums_and_products);
  tcase_add_test(tests, zeros);
  tcase_add_test(tests, powers_of_two);
  tcase_add_test(tests, rationals);
  tcase_add_test(tests, magnitudes);
  tcase_add_test(tests, several_roundings);
  tcase_add_test(tests, sums_of_many);
  tcase_add_test(tests, what_operations_take);
  tcase_add_test(tests, conversions);
  return run_tests();
}
