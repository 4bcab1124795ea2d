/* What is found for a check: one result for each key. */
#ifndef CLARKE_TOOLS_REPRODUCE_RESULT_H
#define CLARKE_TOOLS_REPRODUCE_RESULT_H

#include "reproduce_case.h"
#include "program/derive.h"

/* A check being run. */
typedef struct {
  const clarke_case *c;
  const clarke_check *check;
  clarke_code *p; /* the case's, with wrt marked */
  mpq_t *at;
  size_t n_at;
  clarke_profile profile;
  clarke_derivation d;
} clarke_run;

void clarke_run_init(clarke_run *r);
void clarke_run_clear(clarke_run *r);
/* Reads the point and the profile, marks wrt, and derives; where no fact needs more, d has the
 * execution and AD alone, and no verdict. */
clarke_status clarke_run_check(clarke_run *r, clarke_case *c, const clarke_check *check,
                               clarke_error *err);

/* A word, numbers, or a set of vectors; as text too. */
typedef struct {
  enum { CLARKE_RESULT_WORD, CLARKE_RESULT_NUMBERS, CLARKE_RESULT_SET } kind;
  char *text;
  size_t n;             /* NUMBERS */
  clarke_number *x;
  size_t dim;           /* SET */
  clarke_points points;
} clarke_result;

void clarke_result_init(clarke_result *result);
void clarke_result_clear(clarke_result *result);

/* Text "unknown" where it is not known. */
clarke_status clarke_result_find(clarke_result *result, const clarke_run *r, const char *key,
                                 clarke_error *err);

/* Is the result what this text says? Numbers are literals, compared exactly, or ~D: D rounded to
 * the digits it has. */
bool clarke_result_is(const clarke_result *result, const char *text);
/* Do two texts say the same (the first may have ~D)? */
bool clarke_texts_agree(const char *printed, const char *expected);

#endif
