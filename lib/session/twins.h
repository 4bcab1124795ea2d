/* Two graphs of one function of the same parameters: which step of one is which step of the other? Steps that hand on all entries in
 * order (casts, copies, other layouts) are the identity in the reals: either graph may have them anywhere, and they are passed over. */
#ifndef CLARKE_SESSION_TWINS_H
#define CLARKE_SESSION_TWINS_H

#include "op/step.h"

#include "base/status.h"

typedef struct {
  size_t *step; /* by step of the first: that of the second; CLARKE_NONE: it is passed over */
} clarke_twins;

void clarke_twins_clear(clarke_twins *t);

/* *same: are they one function, step for step? Parameters go by their names; their numbers are the caller's to compare. */
clarke_status clarke_twins_find(clarke_twins *t, bool *same, const clarke_graph *g, const clarke_graph *h, clarke_error *err);

/* Are they the same numbers, or both none? */
bool clarke_twins_numbers(const double *a, const double *b, size_t n);

#endif
