/* check_apart asked of a process of its own (beside.c), which is small: a test that has the library in it takes three times as long to
 * fork as the checker alone. */
#ifndef CLARKE_TESTS_CHECK_BESIDE_H
#define CLARKE_TESTS_CHECK_BESIDE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { SAID_MOST = 16384 };

typedef struct {
  char proof[PATH_MAX], data[PATH_MAX];
  bool has_data;
  size_t threads, size;
} check_question;

typedef struct {
  int status;
  char said[SAID_MOST];
} check_answer;

#endif
