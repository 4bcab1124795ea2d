/* Numbers cut into digits: added up again in rationals they are the number, or no farther off than said. */
#include "network/pass/slices/slices.h"
#include "../draw.h"
#include "../suite.h"

#include <math.h>

static void
scaled(mpq_t q, double v, long exponent)
{
  mpq_set_d(q, v);
  if (exponent >= 0)
    mpq_mul_2exp(q, q, (mp_bitcnt_t)exponent);
  else
    mpq_div_2exp(q, q, (mp_bitcnt_t)-exponent);
}

/* The digits' sum; each is an integer of at most half the base. */
static void
sum_of(mpq_t sum, const clarke_digits *d, long width)
{
  mpq_t term;

  mpq_init(term);
  mpq_set_ui(sum, 0, 1);
  ck_assert_uint_le(d->planes, CLARKE_PLANES);
  for (size_t k = 0; k < d->planes; k++) {
    ck_assert(d->digit[k] == rint(d->digit[k]) && fabs(d->digit[k]) <= ldexp(1, (int)width - 1));
    scaled(term, d->digit[k], d->low + width * (long)k);
    mpq_add(sum, sum, term);
  }
  mpq_clear(term);
}

/* 53 bits, or few, anywhere between 2^-60 and 2^60; now and then the end of a digit's range. */
static double
draw_double(uint64_t *state, long width)
{
  const double sign = draw_below(state, 2) == 0 ? 1 : -1;

  if (draw_below(state, 4) == 0)
    return sign * (ldexp(1, (int)width - 1) + (double)draw_between(state, -1, 1)) * ldexp(1, draw_int(state, 60) - 30);
  return sign * ldexp((double)(draw(state) >> (11 + draw_below(state, 53))), draw_int(state, 120) - 60);
}

START_TEST(against_rationals)
{
  uint64_t state = 1;
  mpq_t v, sum, half;

  mpq_inits(v, sum, half, NULL);
  for (int round = 0; round < 20000; round++) {
    const long width = draw_between(&state, 8, 24), low = draw_between(&state, -60, 10);
    const double number = draw_double(&state, width);
    clarke_digits d;

    mpq_set_d(v, number);
    if (clarke_digits_of_double(&d, number, low, width)) { /* the nearest on the grid of 2^low */
      ck_assert_int_eq(d.low, low);
      sum_of(sum, &d, width);
      mpq_sub(sum, sum, v);
      mpq_abs(sum, sum);
      scaled(half, 0.5, low);
      ck_assert(mpq_cmp(sum, half) <= 0);
    } else /* only what is too large has no digits */
      ck_assert(fabs(number) >= ldexp(1, (int)(low + width * (CLARKE_PLANES - 2))));
    ck_assert(clarke_digits_exactly(&d, number, width));
    sum_of(sum, &d, width);
    ck_assert(mpq_equal(sum, v));
    ck_assert_int_eq(d.low % width, 0);
    ck_assert(d.planes == 0 ? number == 0 : d.digit[0] != 0);
  }
  mpq_clears(v, sum, half, NULL);
}
END_TEST

START_TEST(what_has_no_digits)
{
  clarke_digits d;
  mpfr_t v;

  ck_assert(!clarke_digits_of_double(&d, INFINITY, 0, 20));
  ck_assert(!clarke_digits_of_double(&d, NAN, 0, 20));
  ck_assert(!clarke_digits_of_double(&d, 0x1p1000, -500, 20));
  ck_assert(clarke_digits_of_double(&d, 0, 0, 20));
  ck_assert_uint_eq(d.planes, 0);
  ck_assert(clarke_digits_of_double(&d, 0x1p-300, 0, 20)); /* off by less than 1 */
  ck_assert_uint_eq(d.planes, 0);
  mpfr_init2(v, 2000);
  mpfr_set_ui_2exp(v, 1, 20 * CLARKE_PLANES, MPFR_RNDN);
  ck_assert(!clarke_digits_of_mpfr(&d, v, 0, 20)); /* one digit too many */
  mpfr_clear(v);
}
END_TEST

/* The nearest integer, and upper bounds of a bound's own roundings. */
START_TEST(small_things)
{
  uint64_t state = 2;

  for (int round = 0; round < 2000; round++) {
    const double v = ldexp((double)draw_between(&state, -1000000, 1000000), draw_int(&state, 30) - 15);
    const long at = draw_between(&state, -500, 500), width = draw_between(&state, 1, 30);

    ck_assert(clarke_nearest_integer(v) == rint(v));
    ck_assert(fabs(v) == 0 || clarke_slice_up(fabs(v)) > fabs(v));
    ck_assert_int_eq(clarke_slice_grid(at, width) % width, 0);
    ck_assert(clarke_slice_grid(at, width) <= at && at < clarke_slice_grid(at, width) + width);
  }
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("digits");

  tcase_add_test(tests, against_rationals);
  tcase_add_test(tests, what_has_no_digits);
  tcase_add_test(tests, small_things);
  return run_tests();
}
