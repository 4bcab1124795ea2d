/* Between follow.c (DRAT), follow_hints.c (LRAT) and follow_bounds.c, which both ask. */
#ifndef CLARKE_SAT_FOLLOW_INSIDE_H
#define CLARKE_SAT_FOLLOW_INSIDE_H

#include "sat/follow.h"

/* What is followed, where it comes from, and how far. */
typedef struct {
  clarke_solution *to;
  const clarke_three *three;
  const clarke_cnf *formula;
  const clarke_clausal *proof;
  const char *file;
  size_t work;
} clarke_following;

/* Is the literal one of the formula's? */
clarke_status clarke_following_knows(const clarke_following *g, size_t step, int32_t literal, clarke_error *err);
/* to->answer stays GIVEN_UP where there is more work than was allowed. */
bool clarke_following_goes_on(clarke_following *g);

/* LRAT: appends steps up to the empty clause. */
clarke_status clarke_follow_hints(clarke_following *g, clarke_error *err);

#endif
