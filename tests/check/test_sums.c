/* Sums of recorded numbers: what is rounded of them, and how near a recorded number is. */
#include "check/base/session.h"
#include "check/files/types.h"
#include "check/record/record_sum.h"
#include "../suite.h"

#include <stdlib.h>

#define ODD 16777217 /* 2^24 + 1, the first integer that is no float32 */

/* c times `number`, beside what was recorded, one rounding being made. */
static nearness
judge(long above, unsigned long below, long number, long recorded_as)
{
  unit u = {0, integer_zero()};
  coefficient c = {0};
  RATIONAL(q);
  recorded a = {(double)number, {0}}, r = {(double)recorded_as, {0}};
  sum *s = sums(1);
  mpz_set_ui(&u.common, 6);
  mpq_set_si(&q, above, below);
  coefficient_set(&c, &u, &q);
  ck_assert(c.q == &q && c.plain == (below == 1 && labs(above) == 1));
  sum_add(s, &u, FLOAT, &c, &a, NULL, 0);
  ck_assert(s->rounds != c.plain);
  nearness found = sum_judge(s, &u, FLOAT, 1, &r);
  sums_free(s, 1);
  mpz_clear(&u.common);
  mpz_clear(&c.times);
  return found;
}

/* A number itself, or minus it, is not rounded; any other product is. */
START_TEST(products_by_one_are_not_rounded)
{
  ck_assert_int_eq(judge(1, 1, ODD, ODD), BIT_EXACT);
  ck_assert_int_eq(judge(1, 1, ODD, ODD - 1), BIT_EXACT); /* of two that are as near the even one */
  ck_assert_int_eq(judge(1, 1, ODD, ODD + 1), BEYOND);
  ck_assert_int_eq(judge(-1, 1, ODD, -ODD - 1), BEYOND);
  ck_assert_int_eq(judge(-1, 1, ODD, 1 - ODD), BIT_EXACT);
  ck_assert_int_eq(judge(3, 1, ODD, 3L * ODD + 1), BIT_EXACT);
  ck_assert_int_eq(judge(3, 1, ODD, 3L * ODD - 3), WITHIN_BOUND);
  ck_assert_int_eq(judge(3, 1, ODD, 3L * ODD + 5), BEYOND);
  ck_assert_int_eq(judge(1, 2, 2L * ODD, ODD + 1), WITHIN_BOUND);
  ck_assert_int_eq(judge(-1, 3, 3L * ODD, -ODD - 1), WITHIN_BOUND);
  ck_assert_int_eq(judge(0, 1, ODD, 0), BIT_EXACT);
}
END_TEST

int
main(void)
{
  tcase_add_test(tests_of("check sums"), products_by_one_are_not_rounded);
  return run_tests();
}
