/* One sample of a network's input: where a question about a point is asked. */
#ifndef CLARKE_SESSION_SAMPLE_H
#define CLARKE_SESSION_SAMPLE_H

#include "exact/tensor.h"
#include "op/model.h"

/* Zeros of the shape that the model declares for its one input, the first axis 1 where it is open. x is initialized, and named x.
 * No declared shape, or an open axis but the first, is CLARKE_EINPUT; more than the limit of entries CLARKE_ENOMEM. */
clarke_status clarke_sample_zeros(clarke_tensor *x, const clarke_model *m, clarke_error *err);

/* A sample that lacks the first axis, declared open or 1, gets it: of an input (?, 64) an array (64) becomes (1, 64). Others stay. */
void clarke_sample_lift(clarke_tensor *x, const clarke_model *m);

#endif
