/* Comparisons of what is computed of initializers. Where both sides differ they are what they are near the parameters, too. */
#ifndef CLARKE_OP_DECIDED_H
#define CLARKE_OP_DECIDED_H

#include "op/operator.h"

/* The entries of input i where they are known exactly: of a constant of floats, or of what was lifted, and sums of these. NULL. */
const double *clarke_lower_known(const clarke_lowering *low, size_t i);
/* The value, a lifted constant of input 0's entries, or the sum or difference of both inputs, which have one shape, knows its
 * entries, where they are exact. */
clarke_status clarke_lower_know_lifted(clarke_lowering *low, size_t value, clarke_error *err);
clarke_status clarke_lower_know_sum(clarke_lowering *low, size_t value, bool subtract, clarke_error *err);
/* Marks the parameters that an input is made of: the graph was built for their entries. */
clarke_status clarke_lower_compared(clarke_lowering *low, size_t i, clarke_error *err);

#endif
