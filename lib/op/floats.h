/* What is computed of constants of float32 when a network is built: an attention's scale, the root of a shape's entry. */
#ifndef CLARKE_OP_FLOATS_H
#define CLARKE_OP_FLOATS_H

#include "op/operator.h"

/* Are all inputs constants of float32 that no parameter is: of Constant nodes, or computed? */
bool clarke_lower_of_floats(const clarke_lowering *low);

/* Add, Sub, Mul, Div, Sqrt and Pow (by 1/2 and -1/2) of them; Cast, also of integers and truth values; Where. Each is rounded to float32 as IEEE 754 has
 * it, and must be 0 or a normal number, but that what is copied may be infinite or NaN, and a sum minus infinity. Concat of lists. */
clarke_status clarke_lower_floats_computed(clarke_lowering *low, clarke_error *err);
clarke_status clarke_lower_floats_joined(clarke_lowering *low, clarke_error *err);

/* Has the node only such constants, or only integers that its operator computes with? Then its output is computed of them. */
clarke_status clarke_lower_computed(clarke_lowering *low, bool *computed, clarke_error *err);

/* The node's output, that number everywhere. */
clarke_status clarke_lower_floats_filled(clarke_lowering *low, size_t rank, const size_t *dims, double value, clarke_error *err);

/* CumSum of input 0 along the axis: all its sums are whole numbers up to 2^24, so that none is rounded. */
clarke_status clarke_lower_floats_running(clarke_lowering *low, size_t axis, clarke_error *err);

/* The largest entries of input 0, such a constant, over the axes that ReduceMax names, or the smallest; *computed: it is one. */
clarke_status clarke_lower_floats_extreme(clarke_lowering *low, bool least, bool *computed, clarke_error *err);

/* Is the node a Where of truth values and two such constants? */
bool clarke_lower_chooses_floats(const clarke_lowering *low);

#endif
