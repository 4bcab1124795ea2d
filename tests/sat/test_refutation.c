/* Refutations step by step: what is kept, and what trimming leaves out. */
#include "../ok.h"
#include "sat/refutation.h"

/* A step of literals and hints, each list ended by 0: its number. */
static uint32_t
step(clarke_sat_refutation *r, const int *literal, const int *hint)
{
  for (; *literal != 0; literal++)
    ck_assert(clarke_refutation_literal(r, *literal));
  for (; *hint != 0; hint++)
    ck_assert(clarke_refutation_hint(r, (size_t)*hint));
  return clarke_refutation_end(r);
}
#define LIST(...) ((const int[]){__VA_ARGS__ 0})

static void
require_step(const clarke_sat_refutation *r, size_t k, const int *literal, const int *hint)
{
  size_t i = r->first_literal[k], j = r->first_hint[k];

  for (; *literal != 0; literal++)
    ck_assert_int_eq(r->literal[i++], *literal);
  for (; *hint != 0; hint++)
    ck_assert_int_eq((int)r->hint[j++], *hint);
  ck_assert_uint_eq(i, r->first_literal[k + 1]);
  ck_assert_uint_eq(j, r->first_hint[k + 1]);
}

START_TEST(kept_in_order)
{
  clarke_sat_refutation r;

  clarke_refutation_init(&r);
  r.n_given = 4;
  ck_assert_uint_eq(step(&r, LIST(1, -2,), LIST(1, 3,)), 5);
  ck_assert(!clarke_refutation_is_valid(&r)); /* its last step is not empty */
  ck_assert_uint_eq(step(&r, LIST(), LIST(5, 2, 4,)), 6);
  ck_assert(clarke_refutation_is_valid(&r));
  require_step(&r, 0, LIST(1, -2,), LIST(1, 3,));
  require_step(&r, 1, LIST(), LIST(5, 2, 4,));
  clarke_refutation_clear(&r);
  ck_assert_uint_eq(r.n, 0);
}
END_TEST

/* Steps 4, 6 and 7 lead to nothing. */
START_TEST(trimmed)
{
  clarke_sat_refutation r;

  clarke_refutation_init(&r);
  r.n_given = 3;
  step(&r, LIST(7, 8, 9,), LIST(1,));
  step(&r, LIST(1,), LIST(2, 3,));
  step(&r, LIST(4, -5,), LIST(4, 5,));
  step(&r, LIST(6,), LIST(6,));
  step(&r, LIST(-2, 3,), LIST(5, 1,));
  step(&r, LIST(), LIST(8, 5, 2,));
  OK(clarke_refutation_trim(&r, &error));
  ck_assert_uint_eq(r.n, 3);
  require_step(&r, 0, LIST(1,), LIST(2, 3,));
  require_step(&r, 1, LIST(-2, 3,), LIST(4, 1,));
  require_step(&r, 2, LIST(), LIST(5, 4, 2,));
  ck_assert_uint_eq(r.n_literals, 3);
  ck_assert_uint_eq(r.n_hints, 7);
  ck_assert(clarke_refutation_is_valid(&r));
  clarke_refutation_clear(&r);
}
END_TEST

/* Past every array's first room; a chain, of which every other step is needed. */
START_TEST(many)
{
  clarke_sat_refutation r;
  const int n = 2000;

  clarke_refutation_init(&r);
  r.n_given = 1;
  for (int k = 0; k < n; k++) {
    step(&r, LIST(k + 1, -k - 2,), k < 2 ? LIST(1,) : LIST(k,)); /* the step two before is number k */
    ck_assert_uint_eq(r.n, (size_t)k + 1);
  }
  step(&r, LIST(), LIST(n + 1,));
  OK(clarke_refutation_trim(&r, &error));
  ck_assert_uint_eq(r.n, (size_t)n / 2 + 1);
  for (int k = 0; k < n / 2; k++)
    require_step(&r, (size_t)k, LIST(2 * k + 2, -2 * k - 3,), LIST(k + 1,));
  require_step(&r, (size_t)n / 2, LIST(), LIST(n / 2 + 1,));
  clarke_refutation_clear(&r);
}
END_TEST

START_TEST(numbers_end)
{
  clarke_sat_refutation r;

  clarke_refutation_init(&r);
  r.n_given = UINT32_MAX - 2;
  ck_assert_uint_eq(step(&r, LIST(1,), LIST(1,)), UINT32_MAX - 1);
  ck_assert_uint_eq(step(&r, LIST(), LIST(1,)), 0);
  clarke_refutation_clear(&r);
}
END_TEST

START_TEST(nothing_to_trim)
{
  clarke_sat_refutation r;

  clarke_refutation_init(&r);
  OK(clarke_refutation_trim(&r, &error));
  ck_assert_uint_eq(r.n, 0);
  clarke_refutation_clear(&r);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("refutation");

  tcase_add_test(tests, kept_in_order);
  tcase_add_test(tests, trimmed);
  tcase_add_test(tests, many);
  tcase_add_test(tests, numbers_end);
  tcase_add_test(tests, nothing_to_trim);
  return run_tests();
}
