/* Long work: told to stop, and how far it is. */
#include "../ok.h"
#include "base/stop.h"

#include <string.h>

START_TEST(goes_on_until_told)
{
  clarke_work_resume();
  ck_assert_ptr_null(clarke_work_stopped());
  OK(clarke_work_check(&error));
  clarke_work_stop("first");
  clarke_work_stop("second");
  ck_assert_str_eq(clarke_work_stopped(), "first");
  ck_assert_int_eq(clarke_work_check(&error), CLARKE_ESTOPPED);
  ck_assert_str_eq(error.text, "first");
  ck_assert_int_eq(clarke_work_check(NULL), CLARKE_ESTOPPED);
  clarke_work_resume();
  OK(clarke_work_check(&error));
}
END_TEST

START_TEST(after_so_many_checks)
{
  clarke_work_resume();
  clarke_work_stop_after(3, "third");
  OK(clarke_work_check(&error));
  OK(clarke_work_check(&error));
  ck_assert_ptr_null(clarke_work_stopped());
  ck_assert_int_eq(clarke_work_check(&error), CLARKE_ESTOPPED);
  ck_assert_int_eq(clarke_work_check(&error), CLARKE_ESTOPPED); /* it stays so */
  ck_assert_str_eq(clarke_work_stopped(), "third");
  clarke_work_resume();
  for (int i = 0; i < 10; i++)
    OK(clarke_work_check(&error));
  clarke_work_stop_after(2, "never");
  clarke_work_stop_after(0, "never");
  for (int i = 0; i < 10; i++)
    OK(clarke_work_check(&error));
}
END_TEST

START_TEST(stages)
{
  size_t done = 7, parts = 7;

  clarke_work_begin("filter", 4);
  clarke_work_done();
  clarke_work_done();
  ck_assert_str_eq(clarke_work_at(&done, &parts), "filter");
  ck_assert_uint_eq(done, 2);
  ck_assert_uint_eq(parts, 4);
  clarke_work_begin("tree", 0);
  ck_assert_str_eq(clarke_work_at(&done, &parts), "tree");
  ck_assert_uint_eq(done, 0);
  ck_assert_uint_eq(parts, 0);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("stop");

  tcase_add_test(tests, goes_on_until_told);
  tcase_add_test(tests, after_so_many_checks);
  tcase_add_test(tests, stages);
  return run_tests();
}
