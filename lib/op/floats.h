/* What is computed of constants of floats, all of one type, when a network is built: an attention's scale, the root of a shape's
 * entry. */
#ifndef CLARKE_OP_FLOATS_H
#define CLARKE_OP_FLOATS_H

#include "op/operator.h"

/* Is it a type of floats? The number of that type that is nearest to x, of two the even one; infinite where it is too large. */
bool clarke_floats_are(clarke_dtype dtype);
double clarke_floats_nearest(double x, clarke_dtype dtype);

/* Is x a whole number up to 2^24 in size, below which the type has all of them? */
bool clarke_floats_whole(double x, clarke_dtype dtype);

/* Are all inputs constants of floats of one type that no parameter is: of Constant nodes, or computed? */
bool clarke_lower_of_floats(const clarke_lowering *low);

/* Is the node a Pow of them that is computed: by 1/2 and -1/2; by 1 or 2, which is one entry? Runtimes square by one product; other powers
 * they round in their own ways. */
bool clarke_lower_is_power(const clarke_lowering *low);

/* Add, Sub, Mul, Div, Sqrt and Pow (of such exponents) of them; Where. Each is rounded to their type as IEEE 754 has it, and must be
 * 0 or a normal number, but that what is copied may be infinite or NaN, and a sum minus infinity. Concat of lists. Cast to a type
 * of floats, also of integers and truth values. */
clarke_status clarke_lower_floats_computed(clarke_lowering *low, clarke_error *err);
clarke_status clarke_lower_floats_cast(clarke_lowering *low, clarke_dtype dtype, clarke_error *err);
clarke_status clarke_lower_floats_joined(clarke_lowering *low, clarke_error *err);

/* Has the node only such constants, or only integers that its operator computes with? Then its output is computed of them. */
clarke_status clarke_lower_computed(clarke_lowering *low, bool *computed, clarke_error *err);

/* The node's output, that number everywhere. */
clarke_status clarke_lower_floats_filled(clarke_lowering *low, clarke_dtype dtype, size_t rank, const size_t *dims, double value,
                                         clarke_error *err);

/* Input 0, such a constant, in another shape: entry f is its entry map[f], or `value` where that is CLARKE_NONE. The map is taken over. */
clarke_status clarke_lower_floats_moved(clarke_lowering *low, size_t rank, const size_t *dims, size_t *map, double value,
                                        clarke_error *err);

/* Is input i such a constant? */
bool clarke_lower_is_floats(const clarke_lowering *low, size_t i);

/* CumSum of input 0 along the axis: all its sums are whole numbers that its type has, so that none is rounded. */
clarke_status clarke_lower_floats_running(clarke_lowering *low, size_t axis, clarke_error *err);

/* The largest entries of input 0, such a constant, over the axes that ReduceMax names, or the smallest; *computed: it is one. */
clarke_status clarke_lower_floats_extreme(clarke_lowering *low, bool least, bool *computed, clarke_error *err);

/* Is the node a Where of truth values and two such constants? */
bool clarke_lower_chooses_floats(const clarke_lowering *low);

#endif
