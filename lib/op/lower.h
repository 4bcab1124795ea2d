/* What the files that lower nodes share: how they fail, and what they can afford. */
#ifndef CLARKE_OP_LOWER_H
#define CLARKE_OP_LOWER_H

#include "op/operator.h"

/* Fail, with a message that names the node: out of memory; an index map or an activation past the limits. */
clarke_status clarke_lower_no_memory(const clarke_lowering *low, clarke_error *err);
clarke_status clarke_lower_too_large(const clarke_lowering *low, clarke_error *err);

/* The product of two activations, entry by entry, with NumPy's broadcasting; as matrices, all axes but the last two alike. */
clarke_status clarke_lower_times(clarke_lowering *low, clarke_error *err);
clarke_status clarke_lower_contraction(clarke_lowering *low, clarke_error *err);

/* Gather: entries along an axis, at the constant integers of input 1. */
clarke_status clarke_lower_take(clarke_lowering *low, clarke_error *err);

/* The function of an activation, a step; and the product of two activations of one shape, entry by entry. NULL when they fail. */
clarke_step *clarke_lower_function(clarke_lowering *low, clarke_function function, size_t value, clarke_error *err);
clarke_step *clarke_lower_entries(clarke_lowering *low, size_t a, size_t c, clarke_error *err);

/* The value of a function with a domain, in a step of its own; CLARKE_NONE when it fails. */
size_t clarke_lower_inside(clarke_lowering *low, clarke_function function, size_t value, clarke_error *err);

/* clarke_lower_rearranged, of an activation with the batch there. */
clarke_status clarke_lower_moved(clarke_lowering *low, size_t rank, const size_t *dims, size_t *map,
                                 const clarke_batch_axis *batch, clarke_error *err);

/* The node is a copy of input 0. */
clarke_status clarke_lower_copy(clarke_lowering *low, clarke_error *err);

/* Does the graph stay within the limits with so many entries more? */
bool clarke_lower_affordable(const clarke_graph *g, size_t count);

#endif
