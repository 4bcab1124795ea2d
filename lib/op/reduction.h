/* Which of an input's axes a reduction is over (ReduceMean, ReduceMax, ...), and where their entries are. */
#ifndef CLARKE_OP_REDUCTION_H
#define CLARKE_OP_REDUCTION_H

#include "op/axes.h"

typedef struct {
  size_t rank, dims[CLARKE_MAX_WHOLE]; /* of input 0, whole */
  clarke_batch_axis batch;             /* of input 0 */
  bool reduced[CLARKE_MAX_WHOLE];
  bool keep; /* an axis of one entry where one is reduced? */
  bool none; /* the node asks for no axis at all: the output is the input */
} clarke_reduced_axes;

/* Input 0, an activation. The axes are an attribute before opset 18 (ReduceSum: 13), an input from it; none are all, or, with
 * noop_with_empty_axes, none at all. Fails where the batch is among them; `what` is, in that message, what is made of it. */
clarke_status clarke_reduction_read(clarke_reduced_axes *r, clarke_lowering *low, const char *what, clarke_error *err);

/* The entry of the input, but for those of axes before `first`, that is the index-th in row-major order over the axes from
 * `first` on that are reduced, or over those that are not. */
size_t clarke_reduction_offset(const clarke_reduced_axes *r, size_t first, bool reduced, size_t index);

/* The per-sample shape of the output; its rank. */
size_t clarke_reduction_shape(const clarke_reduced_axes *r, size_t *dims);

/* A reduction of no axis at all: the input as it is. */
clarke_status clarke_reduction_none(const clarke_reduced_axes *r, clarke_lowering *low, clarke_error *err);

/* Where the batch is in the output. */
clarke_batch_axis clarke_reduction_batch(const clarke_reduced_axes *r);

#endif
