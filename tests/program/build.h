/* What the tests of this folder share: pointwise operators by their name in programs, and sets of
 * gradients beside the library's. */
#ifndef CLARKE_TESTS_PROGRAM_BUILD_H
#define CLARKE_TESTS_PROGRAM_BUILD_H

#include "program/derive.h"
#include "../draw.h"
#include "../suite.h"

#include <stdint.h>

#define OK(call) \
  do { \
    clarke_error error_ = { 0 }; \
    clarke_error *err = &error_; \
    if ((call) != CLARKE_OK) /* (an assertion that holds costs a system call) */ \
      ck_abort_msg("%s: %s", #call, error_.text); \
  } while (0)

/* NAME(in, constants...), the constants n_given rationals numerator/denominator, the rest as the
 * spelling has them. */
size_t pointwise(clarke_code *p, const char *name, size_t in, size_t n_given,
                 const long (*given)[2]);
/* coef[0] in[0] + ... + coef[n], integers. */
size_t linear(clarke_code *p, size_t n, const size_t *in, const long *coef);
size_t constant(clarke_code *p, long numerator, unsigned long denominator);
/* name: Max, Min, MaxPool, Kth, Sort, Median. */
size_t order(clarke_code *p, const char *name, size_t rank, size_t n, const size_t *in);

mpq_t *rationals(size_t n);
void rationals_free(mpq_t *q, size_t n);

#endif
