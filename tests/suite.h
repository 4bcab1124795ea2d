/* The tests of a program: cases are made, filled, and run by the last line of main. */
#ifndef CLARKE_TESTS_SUITE_H
#define CLARKE_TESTS_SUITE_H

#include <check.h>

/* Check would write to its parent for every assertion that holds, to say after a crash where it was. Millions hold here. */
#define _mark_point(file, line) ((void)0)

static Suite *all_tests;

/* A case of the program's, each of whose tests may take minutes. */
static inline TCase *
tests_of(const char *name)
{
  TCase *tests = tcase_create(name);

  if (all_tests == NULL)
    all_tests = suite_create(name);
  tcase_set_timeout(tests, 300);
  suite_add_tcase(all_tests, tests);
  return tests;
}

/* main's result. */
static inline int
run_tests(void)
{
  SRunner *runner = srunner_create(all_tests);
  int failed;

  srunner_run_all(runner, CK_NORMAL);
  failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}

#endif
