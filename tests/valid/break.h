/* Structures with one field broken: valid before, not with the field's other value, and again after. */
#ifndef CLARKE_TESTS_VALID_BREAK_H
#define CLARKE_TESTS_VALID_BREAK_H

#include "../suite.h"

#include <gmp.h>

#define BREAK(valid, field, value)    \
  do {                                \
    __typeof__(field) kept = (field); \
    ck_assert(valid);                 \
    (field) = (value);                \
    ck_assert(!(valid));              \
    (field) = kept;                   \
    ck_assert(valid);                 \
  } while (0)

#define BREAK_RATIONAL(valid, q, num, den)  \
  do {                                      \
    mpq_t kept;                             \
    mpq_init(kept);                         \
    mpq_set(kept, q);                       \
    ck_assert(valid);                       \
    mpz_set_si(mpq_numref(q), num);         \
    mpz_set_si(mpq_denref(q), den);         \
    ck_assert(!(valid));                    \
    mpq_set(q, kept);                       \
    ck_assert(valid);                       \
    mpq_clear(kept);                        \
  } while (0)

#endif
