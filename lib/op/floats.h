/* What is computed of constants of float32 when a network is built: an attention's scale, the root of a shape's entry. */
#ifndef CLARKE_OP_FLOATS_H
#define CLARKE_OP_FLOATS_H

#include "op/operator.h"

/* Are all inputs constants of float32 that no parameter is: of Constant nodes, or computed? */
bool clarke_lower_of_floats(const clarke_lowering *low);

/* Sqrt and Div of them; Cast, also of integers and truth values. Each is rounded to float32 as IEEE 754 has it, and must be 0
 * or a normal number. */
clarke_status clarke_lower_floats_computed(clarke_lowering *low, clarke_error *err);

#endif
