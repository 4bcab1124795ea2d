/* What stands in the place of a weight: a constant; or an activation that no sample has an own of, which nodes compute of
 * constants alone. A step by a weight is a product of two activations then. */
#ifndef CLARKE_OP_COMPUTED_H
#define CLARKE_OP_COMPUTED_H

#include "op/operator.h"

/* Input i must be one of the two. */
clarke_status clarke_computed_check(const clarke_lowering *low, size_t i, clarke_error *err);
/* The same; a constant is registered as a weight. */
clarke_status clarke_computed_weight(clarke_lowering *low, size_t i, clarke_error *err);

/* Its entries in another shape, as clarke_lower_rearranged_constant takes those of a constant: a step, if it is an activation. */
clarke_status clarke_computed_moved(clarke_lowering *low, size_t i, size_t rank, const size_t *dims, size_t *map, size_t *value,
                                    clarke_error *err);

/* The step DENSE of the value x by shape.weight, or what it is as a product. NULL when it fails. */
clarke_step *clarke_computed_dense(clarke_lowering *low, size_t x, clarke_dense shape, size_t rank, const size_t *dims, clarke_error *err);

/* A step of two operands, x and w, without maps: their products, entry by entry of that shape. NULL when it fails. */
clarke_step *clarke_computed_scale(clarke_lowering *low, size_t x, size_t w, size_t rank, const size_t *dims, clarke_error *err);

#endif
