/* Places that are integers which nodes compute of activations: where a file has constants as a rule. */
#ifndef CLARKE_OP_INDEX_H
#define CLARKE_OP_INDEX_H

#include "op/operator.h"

/* Is input i such an activation? */
bool clarke_index_is_computed(const clarke_lowering *low, size_t i);

/* A value of one more axis, the last, of n entries: 1 at the place that input i names, else 0. Below 0 it counts from n.
 * CLARKE_NONE when it fails. */
size_t clarke_index_ones(clarke_lowering *low, size_t i, size_t n, clarke_error *err);

/* Gather by an input 1 that is computed: of what is the same for all samples. */
clarke_status clarke_index_take(clarke_lowering *low, clarke_error *err);

#endif
