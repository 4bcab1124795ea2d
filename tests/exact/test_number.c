/* Signs, comparisons and arithmetic of exact numbers and of balls: a ball that holds 0, at an end or within, has no sign. */
#include "exact/number.h"
#include "../suite.h"

#include "base/limit.h"

#include <stdlib.h>
#if __FLINT_RELEASE >= 30000
#include <flint/arb_hypgeom.h>
#else
#include <arb_hypgeom.h>
#endif

#define PRECISION 128

/* The ball [low, high] of small halves. */
static void
set_ball(clarke_number *x, double low, double high)
{
  x->exact = false;
  arb_set_d(x->b, (low + high) / 2);
  mag_set_d(arb_radref(x->b), (high - low) / 2);
}

START_TEST(signs_of_balls)
{
  static const struct {
    double low, high;
    int sign;
  } ball[] = {
    {1, 3, 1}, {0.5, 0.5, 1}, {0, 2, 2}, {0, 0, 2}, {-1, 3, 2}, {-1, 1, 2}, {-3, 1, 2}, {-2, 0, 2},
    {-3, -1, -1}, {-0.5, -0.5, -1},
  };
  clarke_number x, zero;

  clarke_number_init(&x);
  clarke_number_init(&zero);
  for (size_t i = 0; i < sizeof ball / sizeof ball[0]; i++) {
    set_ball(&x, ball[i].low, ball[i].high);
    ck_assert_msg(clarke_number_sign(&x) == ball[i].sign, "[%g, %g]", ball[i].low, ball[i].high);
    ck_assert_int_eq(clarke_number_compare(&x, &zero, PRECISION), ball[i].sign);
    ck_assert_int_eq(clarke_number_compare(&zero, &x, PRECISION), ball[i].sign == 2 ? 2 : -ball[i].sign);
  }
  clarke_number_clear(&x);
  clarke_number_clear(&zero);
}
END_TEST

START_TEST(signs_of_rationals)
{
  clarke_number x, y;
  mpq_t q;

  clarke_number_init(&x);
  clarke_number_init(&y);
  mpq_init(q);
  for (long n = -3; n <= 3; n++)
    for (long m = -3; m <= 3; m++) {
      mpq_set_si(q, n, 3);
      mpq_canonicalize(q);
      clarke_number_set_q(&x, q);
      clarke_number_set_si(&y, m);
      ck_assert_int_eq(clarke_number_sign(&x), (n > 0) - (n < 0));
      ck_assert_int_eq(clarke_number_compare(&x, &y, PRECISION), (n > 3 * m) - (n < 3 * m));
    }
  mpq_clear(q);
  clarke_number_clear(&x);
  clarke_number_clear(&y);
}
END_TEST

/* a, or a ball around it. */
static void
set_half(clarke_number *x, long a, bool exact)
{
  mpq_t q;

  mpq_init(q);
  mpq_set_si(q, a, 2);
  mpq_canonicalize(q);
  clarke_number_set_q(x, q);
  mpq_clear(q);
  if (!exact)
    set_ball(x, (double)a / 2 - 0.5, (double)a / 2 + 0.5);
}

/* Is it exactly n / 4, if it should be exact, or else a ball that holds it? */
static void
is_quarters(const clarke_number *x, long n, bool exact)
{
  arb_t at;

  ck_assert(x->exact == exact);
  if (exact) {
    ck_assert_int_eq(mpq_cmp_si(x->q, n, 4), 0);
    return;
  }
  arb_init(at);
  arb_set_d(at, (double)n / 4);
  ck_assert(arb_contains(x->b, at));
  arb_clear(at);
}

/* y = a - b, a b, y + a b, with outputs that alias each input. */
START_TEST(arithmetic)
{
  clarke_number x, y, z;

  clarke_number_init(&x);
  clarke_number_init(&y);
  clarke_number_init(&z);
  for (int kinds = 0; kinds < 4; kinds++)
    for (long a = -3; a <= 3; a++)
      for (long b = -3; b <= 3; b++) {
        const bool exact = kinds == 3;

        set_half(&x, a, kinds & 1);
        set_half(&y, b, kinds & 2);
        clarke_number_sub(&z, &x, &y, PRECISION);
        is_quarters(&z, 2 * (a - b), exact);
        clarke_number_addmul(&z, &x, &y, PRECISION);
        if (a * b != 0 || exact)
          is_quarters(&z, 2 * (a - b) + a * b, exact);
        clarke_number_sub(&x, &x, &y, PRECISION);
        is_quarters(&x, 2 * (a - b), exact);
        set_half(&x, a, kinds & 1);
        clarke_number_sub(&y, &x, &y, PRECISION);
        is_quarters(&y, 2 * (a - b), exact);
        set_half(&y, b, kinds & 2);
        if (a != 0 && b != 0) {
          clarke_number_mul(&z, &x, &y, PRECISION);
          is_quarters(&z, a * b, exact);
          clarke_number_mul(&x, &x, &y, PRECISION);
          is_quarters(&x, a * b, exact);
        }
      }
  clarke_number_clear(&x);
  clarke_number_clear(&y);
  clarke_number_clear(&z);
}
END_TEST

/* log needs more than 0, sqrt no less; a ball that ends at 0 is not certainly more. */
START_TEST(domains)
{
  clarke_number x, y, dy;

  clarke_number_init(&x);
  clarke_number_init(&y);
  clarke_number_init(&dy);
  set_ball(&x, 0, 2);
  ck_assert(!clarke_number_analytic(&y, NULL, CLARKE_FN_LOG, &x, PRECISION));
  ck_assert(!clarke_number_analytic(&y, &dy, CLARKE_FN_SQRT, &x, PRECISION));
  set_ball(&x, -1, 1);
  ck_assert(!clarke_number_analytic(&y, NULL, CLARKE_FN_SQRT, &x, PRECISION));
  set_ball(&x, 0.5, 2);
  ck_assert(clarke_number_analytic(&y, &dy, CLARKE_FN_LOG, &x, PRECISION));
  ck_assert(clarke_number_analytic(&y, &dy, CLARKE_FN_SQRT, &x, PRECISION));
  clarke_number_set_si(&x, 2); /* log 2 is irrational, 1/2 is not */
  ck_assert(clarke_number_analytic(&y, &dy, CLARKE_FN_LOG, &x, PRECISION));
  ck_assert(!y.exact && dy.exact && mpq_cmp_ui(dy.q, 1, 2) == 0);
  clarke_number_set_si(&x, 0);
  ck_assert(!clarke_number_analytic(&y, NULL, CLARKE_FN_LOG, &x, PRECISION));
  ck_assert(!clarke_number_analytic(&y, &dy, CLARKE_FN_SQRT, &x, PRECISION));
  ck_assert(clarke_number_analytic(&y, NULL, CLARKE_FN_SQRT, &x, PRECISION));
  ck_assert_int_eq(clarke_number_sign(&y), 0);
  ck_assert(clarke_number_analytic(&x, &dy, CLARKE_FN_ERF, &x, PRECISION)); /* of 0 it is rational, its slope 2 / sqrt(pi) is not */
  ck_assert(x.exact && clarke_number_sign(&x) == 0 && !dy.exact);
  arb_const_pi(y.b, 2 * PRECISION);
  arb_mul(y.b, y.b, dy.b, 2 * PRECISION);
  arb_mul(y.b, y.b, dy.b, 2 * PRECISION); /* pi dy^2 = 4 */
  ck_assert(arb_contains_si(y.b, 4) && arb_rel_accuracy_bits(y.b) > PRECISION - 8);
  clarke_number_set_si(&x, -1); /* pi / 4 is irrational, the slope 1/2 is not */
  ck_assert(clarke_number_analytic(&x, &dy, CLARKE_FN_ATAN, &x, PRECISION));
  ck_assert(!x.exact && dy.exact && mpq_cmp_ui(dy.q, 1, 2) == 0);
  arb_const_pi(y.b, PRECISION);
  arb_mul_2exp_si(x.b, x.b, 2);
  arb_add(y.b, y.b, x.b, PRECISION);
  ck_assert(arb_contains_zero(y.b) && mag_cmp_2exp_si(arb_radref(y.b), 8 - PRECISION) < 0);
  arb_one(x.b); /* 2 pi bell(1)^2 = exp(-1), of the normal one */
  clarke_ball_bell(y.b, x.b, true, PRECISION);
  arb_sqr(y.b, y.b, PRECISION);
  arb_const_pi(dy.b, PRECISION);
  arb_mul(y.b, y.b, dy.b, PRECISION);
  arb_mul_ui(y.b, y.b, 2, PRECISION);
  arb_neg(x.b, x.b);
  arb_exp(x.b, x.b, PRECISION);
  ck_assert(arb_overlaps(x.b, y.b) && arb_rel_accuracy_bits(y.b) > PRECISION - 8);
  clarke_number_clear(&x);
  clarke_number_clear(&y);
  clarke_number_clear(&dy);
}
END_TEST

START_TEST(weights_sum_to_one)
{
  mpq_t *w = clarke_rationals(3);

  ck_assert(!clarke_weights_are_valid(w, 3)); /* zeros */
  mpq_set_ui(w[0], 1, 3);
  mpq_set_ui(w[2], 1, 6);
  ck_assert(!clarke_weights_are_valid(w, 3));
  clarke_weights_normalize(w, 3);
  ck_assert(clarke_weights_are_valid(w, 3));
  ck_assert(mpq_cmp_ui(w[0], 2, 3) == 0 && mpq_sgn(w[1]) == 0 && mpq_cmp_ui(w[2], 1, 3) == 0);
  ck_assert(!clarke_weights_are_valid(w, 2));
  mpq_set_si(w[1], -1, 3);
  mpq_set_ui(w[0], 1, 1);
  ck_assert(!clarke_weights_are_valid(w, 3)); /* 1 - 1/3 + 1/3 */
  clarke_rationals_free(w, 3);
}
END_TEST

START_TEST(equal_means_rational_and_equal)
{
  clarke_number *a = clarke_numbers(2), *b = clarke_numbers(2);

  ck_assert(clarke_numbers_equal(a, b, 2));
  clarke_number_set_si(&a[1], 2);
  ck_assert(!clarke_numbers_equal(a, b, 2) && clarke_numbers_equal(a, b, 1));
  clarke_number_set(&b[1], &a[1]);
  ck_assert(clarke_numbers_equal(a, b, 2));
  set_ball(&a[1], 2, 2);
  clarke_number_set(&b[1], &a[1]);
  ck_assert(!b[1].exact && !clarke_numbers_equal(a, b, 2));
  clarke_numbers_free(a, 2);
  clarke_numbers_free(b, 2);
}
END_TEST

START_TEST(products_are_added)
{
  clarke_number y, b;
  mpq_t q;

  clarke_number_init(&y);
  clarke_number_init(&b);
  mpq_init(q);
  mpq_set_si(q, -1, 3);
  clarke_number_set_si(&y, 1);
  clarke_number_set_si(&b, 2);
  clarke_number_addmul_q(&y, q, &b, PRECISION);
  ck_assert(y.exact && mpq_cmp_ui(y.q, 1, 3) == 0);
  set_ball(&b, 1, 2);
  clarke_number_addmul_q(&y, q, &b, PRECISION); /* 1/3 - [1, 2]/3 */
  ck_assert(!y.exact && arb_contains_zero(y.b) && !arb_is_positive(y.b));
  set_ball(&b, 2, 3);
  clarke_number_set_si(&y, 0);
  mpq_set_ui(q, 0, 1);
  clarke_number_addmul_q(&y, q, &b, PRECISION);
  ck_assert(y.exact && mpq_sgn(y.q) == 0); /* an exact zero times anything */
  mpq_clear(q);
  clarke_number_clear(&y);
  clarke_number_clear(&b);
}
END_TEST

static void
text_is(const clarke_number *x, const char *expected)
{
  char *text = clarke_number_text(x);

  ck_assert_str_eq(text, expected);
  free(text);
}

START_TEST(a_text_holds_what_is_certain)
{
  clarke_number x, y;

  clarke_number_init(&x);
  clarke_number_init(&y);
  mpq_set_si(x.q, -3, 2);
  text_is(&x, "-3/2");
  clarke_number_set_si(&x, 1);
  ck_assert(clarke_number_analytic(&y, NULL, CLARKE_FN_COS, &x, PRECISION));
  text_is(&y, "0.54030230586813972");
  clarke_number_clear(&x);
  clarke_number_clear(&y);
}
END_TEST

START_TEST(large_numbers_have_many_bits)
{
  const mp_bitcnt_t most = (mp_bitcnt_t)clarke_limit_of(CLARKE_LIMIT_BITS);
  clarke_number x;

  clarke_number_init(&x);
  clarke_number_set_si(&x, 1);
  mpq_mul_2exp(x.q, x.q, most - 1);
  ck_assert(!clarke_number_is_large(&x)); /* as many bits as are allowed */
  mpq_mul_2exp(x.q, x.q, 1);
  ck_assert(clarke_number_is_large(&x));
  mpq_inv(x.q, x.q);
  ck_assert(clarke_number_is_large(&x));
  set_ball(&x, 1, 2);
  ck_assert(!clarke_number_is_large(&x));
  clarke_number_clear(&x);
}
END_TEST

/* An upper bound of |x|, and what holds all between two. */
START_TEST(largest_and_joined)
{
  clarke_number x, a, y;

  clarke_number_init(&x);
  clarke_number_init(&a);
  clarke_number_init(&y);
  clarke_number_set_si(&x, -7);
  clarke_number_largest(&y, &x, PRECISION);
  ck_assert(y.exact && mpq_cmp_ui(y.q, 7, 1) == 0);
  clarke_number_set_si(&a, -7);
  clarke_number_join(&y, &x, &a, PRECISION);
  ck_assert(y.exact && mpq_cmp_si(y.q, -7, 1) == 0); /* of one rational, that */
  clarke_number_set_si(&a, 2);
  clarke_number_join(&y, &x, &a, PRECISION);
  ck_assert(!y.exact && arb_contains_si(y.b, -7) && arb_contains_si(y.b, 2) && arb_contains_si(y.b, 0));
  ck_assert(!arb_contains_si(y.b, 3) && !arb_contains_si(y.b, -8));
  set_ball(&x, -3, 1);
  clarke_number_largest(&y, &x, PRECISION);
  ck_assert(!y.exact && arb_ge(y.b, x.b) && mag_cmp_2exp_si(arb_radref(y.b), -30) < 0);
  ck_assert(arf_cmp_si(arb_midref(y.b), 3) >= 0 && arf_cmp_si(arb_midref(y.b), 4) < 0);
  clarke_number_join(&x, &x, &a, PRECISION); /* in place */
  ck_assert(arb_contains_si(x.b, -3) && arb_contains_si(x.b, 2));
  clarke_number_clear(&x);
  clarke_number_clear(&a);
  clarke_number_clear(&y);
}
END_TEST

/* A ball that is made wider, and the root of one that reaches below 0. */
START_TEST(widened_and_roots)
{
  clarke_number x, by, y;

  clarke_number_init(&x);
  clarke_number_init(&by);
  clarke_number_init(&y);
  clarke_number_set_si(&x, 5);
  clarke_number_widen(&x, &by, PRECISION);
  ck_assert(x.exact && mpq_cmp_ui(x.q, 5, 1) == 0); /* by nothing */
  clarke_number_set_si(&by, -2);
  clarke_number_widen(&x, &by, PRECISION);
  ck_assert(!x.exact && arb_contains_si(x.b, 3) && arb_contains_si(x.b, 7) && !arb_contains_si(x.b, 8) && !arb_contains_si(x.b, 2));
  set_ball(&by, -4, 1); /* at most 4 from 0 */
  clarke_number_widen(&x, &by, PRECISION);
  ck_assert(arb_contains_si(x.b, -1) && arb_contains_si(x.b, 11) && !arb_contains_si(x.b, 13) && !arb_contains_si(x.b, -3));
  clarke_number_root(&y, &x, PRECISION);
  ck_assert(!y.exact && arb_contains_si(y.b, 0) && arb_contains_si(y.b, 3) && !arb_contains_si(y.b, 4));
  clarke_number_set_si(&x, 9);
  clarke_number_root(&x, &x, PRECISION);
  ck_assert(x.exact && mpq_cmp_ui(x.q, 3, 1) == 0);
  clarke_number_set_si(&x, 2);
  clarke_number_root(&y, &x, PRECISION);
  clarke_number_mul(&y, &y, &y, PRECISION);
  ck_assert(!y.exact && arb_contains_si(y.b, 2) && mag_cmp_2exp_si(arb_radref(y.b), -30) < 0);
  clarke_number_clear(&x);
  clarke_number_clear(&by);
  clarke_number_clear(&y);
}
END_TEST

/* f(x), or its slope, by other functions of Arb. */
static void
by_others(arb_t y, clarke_analytic f, const arb_t x, bool slope)
{
  const long bits = 2 * PRECISION;
  arb_t half;

  arb_init(half);
  arb_mul_2exp_si(half, x, -1);
  if (f == CLARKE_FN_EXP) {
    arb_expm1(y, x, bits);
    arb_add_ui(y, y, 1, bits);
  } else if (f == CLARKE_FN_LOG && slope)
    arb_ui_div(y, 1, x, bits);
  else if (f == CLARKE_FN_LOG) {
    arb_sub_ui(y, x, 1, bits);
    arb_log1p(y, y, bits);
  } else if (f == CLARKE_FN_SQRT) {
    arb_root_ui(y, x, 2, bits);
    if (slope) { /* (x / 2) / (y x) */
      arb_div(y, half, y, bits);
      arb_div(y, y, x, bits);
    }
  } else if (f == CLARKE_FN_SIN || f == CLARKE_FN_COS) {
    (slope == (f == CLARKE_FN_SIN) ? arb_cos : arb_sin)(y, x, bits);
    if (slope && f == CLARKE_FN_COS)
      arb_neg(y, y);
  } else if (f == CLARKE_FN_ERF && slope)
    clarke_ball_bell(y, x, false, bits);
  else if (f == CLARKE_FN_ERF) {
    arb_hypgeom_erfc(y, x, bits);
    arb_sub_ui(y, y, 1, bits);
    arb_neg(y, y);
  } else if (slope) { /* 1 / cosh(x)^2, and a quarter of that of x / 2 */
    arb_sech(y, f == CLARKE_FN_TANH ? x : half, bits);
    arb_sqr(y, y, bits);
    arb_mul_2exp_si(y, y, f == CLARKE_FN_TANH ? 0 : -2);
  } else { /* tanh, and (1 + tanh(x / 2)) / 2 */
    arb_coth(y, f == CLARKE_FN_TANH ? x : half, bits);
    arb_inv(y, y, bits);
    if (f == CLARKE_FN_SIGMOID) {
      arb_add_ui(y, y, 1, bits);
      arb_mul_2exp_si(y, y, -1);
    }
  }
  arb_clear(half);
}

/* Values and slopes, asked for alone or together, into the argument or not. */
START_TEST(functions_of_balls)
{
  const clarke_analytic f = (clarke_analytic)_i;
  arb_t x, want[2], found[2];

  arb_init(x);
  for (int k = 0; k < 2; k++) {
    arb_init(want[k]);
    arb_init(found[k]);
  }
  for (int n = 1; n < 60; n++) {
    arb_set_d(x, n * 0.13 - (f == CLARKE_FN_LOG || f == CLARKE_FN_SQRT ? 0 : 4));
    for (int k = 0; k < 2; k++)
      by_others(want[k], f, x, k == 1);
    clarke_ball_analytic(found[0], found[1], f, x, PRECISION);
    for (int k = 0; k < 2; k++)
      ck_assert(arb_overlaps(found[k], want[k]) && arb_rel_accuracy_bits(found[k]) > PRECISION - 24);
    arb_set(found[0], x);
    clarke_ball_analytic(found[0], NULL, f, found[0], PRECISION);
    arb_set(found[1], x);
    clarke_ball_analytic(NULL, found[1], f, found[1], PRECISION);
    for (int k = 0; k < 2; k++)
      ck_assert(arb_overlaps(found[k], want[k]) && arb_rel_accuracy_bits(found[k]) > PRECISION - 24);
  }
  arb_clear(x);
  for (int k = 0; k < 2; k++) {
    arb_clear(want[k]);
    arb_clear(found[k]);
  }
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("number");
  int failed;

  tcase_add_test(tests, signs_of_balls);
  tcase_add_test(tests, signs_of_rationals);
  tcase_add_test(tests, arithmetic);
  tcase_add_test(tests, domains);
  tcase_add_test(tests, weights_sum_to_one);
  tcase_add_test(tests, equal_means_rational_and_equal);
  tcase_add_test(tests, products_are_added);
  tcase_add_test(tests, a_text_holds_what_is_certain);
  tcase_add_test(tests, large_numbers_have_many_bits);
  tcase_add_test(tests, largest_and_joined);
  tcase_add_test(tests, widened_and_roots);
  tcase_add_loop_test(tests, functions_of_balls, CLARKE_FN_EXP, CLARKE_FN_ERF + 1);
  failed = run_tests();
  flint_cleanup_master();
  return failed;
}
