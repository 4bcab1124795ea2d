/* What is computed of constants of integers and truth values when a network is built: shapes, places and masks, as exporters
 * write them. The integers that a single run's input holds are such constants. */
#ifndef CLARKE_OP_INTEGERS_H
#define CLARKE_OP_INTEGERS_H

#include "op/operator.h"

/* Are all inputs constants of 64-bit integers, one or more, or all of 32-bit ones? */
bool clarke_lower_of_integers(const clarke_lowering *low);

/* Is input i truth values? Is the node a Where whose other two inputs are integers, or truth values, of one type? */
bool clarke_lower_of_truths(const clarke_lowering *low, size_t i);
bool clarke_lower_chooses_integers(const clarke_lowering *low);

/* Has the operator a rule for integers, and are all inputs such, as the rule takes? */
bool clarke_lower_computes_integers(const clarke_lowering *low);

/* Arithmetic, comparisons, logic and Where of them, with NumPy's broadcasting; Concat of lists. */
clarke_status clarke_lower_integers_computed(clarke_lowering *low, clarke_error *err);
clarke_status clarke_lower_integers_joined(clarke_lowering *low, clarke_error *err);

/* The node's output, a constant of that type and shape: zeros for the caller to fill. NULL: there are too many, or none. */
int64_t *clarke_lower_integers_made(clarke_lowering *low, clarke_dtype dtype, size_t rank, const size_t *dims, clarke_error *err);

/* The shape that all inputs, constants, broadcast to; false where they do not. Entry f of it is this entry of v. */
bool clarke_lower_constants_shape(const clarke_lowering *low, size_t *rank, size_t *dims);
size_t clarke_lower_constants_entry(const clarke_value *v, size_t rank, const size_t *dims, size_t f);

#endif
