/* Signs and comparisons of exact numbers and of balls: a ball that holds 0, at an end or within, has no sign. */
#include "exact/number.h"

#include <check.h>

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
  clarke_number_clear(&x);
  clarke_number_clear(&y);
  clarke_number_clear(&dy);
}
END_TEST

int
main(void)
{
  Suite *suite = suite_create("number");
  TCase *tests = tcase_create("number");
  SRunner *runner;
  int failed;

  tcase_add_test(tests, signs_of_balls);
  tcase_add_test(tests, signs_of_rationals);
  tcase_add_test(tests, domains);
  suite_add_tcase(suite, tests);
  runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  flint_cleanup_master();
  return failed == 0 ? 0 : 1;
}
