/* A program that runs the tests of several modules of a room. A module's file ends with
 *
 *     MODULE(rows)
 *     {
 *       TCase *tests = tests_of("rows");
 *       ...
 *       return all_tests;
 *     }
 *
 * and the program's main says which there are: MODULE(rows); ... RUN(rows_suite, circuits_suite). */
#ifndef CLARKE_TESTS_SUITES_H
#define CLARKE_TESTS_SUITES_H

#include "suite.h"

#include <flint/flint.h>

#define MODULE(name)         \
  Suite *name##_suite(void); \
  Suite *name##_suite(void)

/* The body of main. */
#define RUN(...)                                                    \
  do {                                                              \
    Suite *(*const make[])(void) = {__VA_ARGS__};                   \
    return run_suites(make, sizeof make / sizeof make[0]);          \
  } while (0)

static inline int
run_suites(Suite *(*const *make)(void), size_t n)
{
  SRunner *runner = srunner_create(make[0]());
  int failed;

  for (size_t k = 1; k < n; k++)
    srunner_add_suite(runner, make[k]());
  failed = run_runner(runner);
  flint_cleanup_master();
  return failed != 0;
}

#endif
