/* Calls of the library that must succeed. */
#ifndef CLARKE_TESTS_OK_H
#define CLARKE_TESTS_OK_H

#include "base/status.h"
#include "suite.h"

static clarke_error error;

/* (An assertion of check's that holds costs a system call.) */
#define OK(call) \
  do { \
    if ((call) != CLARKE_OK) \
      ck_abort_msg("%s: %s", #call, error.text); \
  } while (0)

#endif
