/* Long work: told to stop, and how far it is. */
#include "../ok.h"
#include "base/stop.h"
#include "base/limit.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOLDS(condition) \
  if (!(condition)) \
  _exit(__LINE__ & 255)

/* A process is told once, and for good: each of these has one of its own. */
static int
apart(void (*body)(void))
{
  int status = 0;
  pid_t child = fork();

  ck_assert_int_ge(child, 0);
  if (child == 0) {
    body();
    _exit(0);
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  return status;
}

static void
told(void)
{
  HOLDS(clarke_work_stopped() == NULL && clarke_work_check(&error) == CLARKE_OK);
  clarke_work_stop("first");
  clarke_work_stop("second");
  HOLDS(strcmp(clarke_work_stopped(), "first") == 0);
  HOLDS(clarke_work_check(&error) == CLARKE_ESTOPPED && strcmp(error.text, "first") == 0);
  HOLDS(clarke_work_check(NULL) == CLARKE_ESTOPPED);
}

START_TEST(goes_on_until_told)
{
  ck_assert_int_eq(apart(told), 0);
}
END_TEST

/* Beyond the limit of work, which stands until another count is begun; where none is limited, never. */
static void
spent(void)
{
  HOLDS(clarke_limit_set("work=5000", &error) == CLARKE_OK);
  clarke_work_spend(100000);
  HOLDS(clarke_work_check(&error) == CLARKE_OK && !clarke_work_beyond(clarke_work_counted()));
  clarke_work_count_from((clarke_work_count){.limited = true});
  clarke_work_spend(3000);
  HOLDS(clarke_work_check(&error) == CLARKE_OK && clarke_work_stopped() == NULL);
  clarke_work_keep(1000);
  HOLDS(clarke_work_check(&error) == CLARKE_ESTOPPED && strstr(error.text, "--limit work=N") != NULL);
  HOLDS(strstr(clarke_work_stopped(), "--limit work=N") != NULL);
  clarke_work_count_from((clarke_work_count){.limited = true, .spent = SIZE_MAX - 1});
  clarke_work_spend(10);
  HOLDS(clarke_work_counted().spent == SIZE_MAX && clarke_work_beyond(clarke_work_counted()));
  clarke_work_count_from((clarke_work_count){.limited = false});
  HOLDS(clarke_work_check(&error) == CLARKE_OK);
}

START_TEST(is_counted)
{
  ck_assert_int_eq(apart(spent), 0);
}
END_TEST

static void
third(void)
{
  clarke_work_stop_after(3, "third");
  HOLDS(clarke_work_check(&error) == CLARKE_OK && clarke_work_check(&error) == CLARKE_OK);
  HOLDS(clarke_work_stopped() == NULL);
  HOLDS(clarke_work_check(&error) == CLARKE_ESTOPPED && clarke_work_check(&error) == CLARKE_ESTOPPED); /* it stays so */
  HOLDS(strcmp(clarke_work_stopped(), "third") == 0);
}

static void
never(void)
{
  clarke_work_stop_after(2, "never");
  clarke_work_stop_after(0, "never");
  for (int i = 0; i < 10; i++)
    HOLDS(clarke_work_check(&error) == CLARKE_OK);
}

START_TEST(after_so_many_checks)
{
  ck_assert_int_eq(apart(third), 0);
  ck_assert_int_eq(apart(never), 0);
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
  tcase_add_test(tests, is_counted);
  tcase_add_test(tests, after_so_many_checks);
  tcase_add_test(tests, stages);
  return run_tests();
}
