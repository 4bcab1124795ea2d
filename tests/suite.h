/* The tests of a program: cases are made, filled, and run by the last line of main. */
#ifndef CLARKE_TESTS_SUITE_H
#define CLARKE_TESTS_SUITE_H

#include <check.h>

/* Check would write to its parent for every assertion that holds, to say after a crash where it was. Millions hold here. */
#define _mark_point(file, line) ((void)0)

static Suite *all_tests;

/* A case of the program's. */
static inline TCase *
tests_of(const char *name)
{
  TCase *tests = tcase_create(name);

  if (all_tests == NULL)
    all_tests = suite_create(name);
  suite_add_tcase(all_tests, tests);
  return tests;
}

/* In one process, wherever it runs: what one test draws depends on those before it. How long it may take Meson says. How many fail? */
static inline int
run_runner(SRunner *runner)
{
  int failed;

  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_NORMAL);
  failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed;
}

/* main's result. */
static inline int
run_tests(void)
{
  return run_runner(srunner_create(all_tests)) != 0;
}

#endif
