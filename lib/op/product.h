/* Products of two activations. */
#ifndef CLARKE_OP_PRODUCT_H
#define CLARKE_OP_PRODUCT_H

#include "op/operator.h"

/* The products of the node's inputs, entry by entry, with NumPy's broadcasting; as matrices, all axes but the last two
 * alike. */
clarke_status clarke_lower_times(clarke_lowering *low, clarke_error *err);
clarke_status clarke_lower_contraction(clarke_lowering *low, clarke_error *err);

/* The products of two values of one shape, entry by entry: a step; NULL when it fails. */
clarke_step *clarke_lower_entries(clarke_lowering *low, size_t a, size_t c, clarke_error *err);

#endif
