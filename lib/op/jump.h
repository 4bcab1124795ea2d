/* Functions of activations that jump, and are constants where they do not: comparisons, what is computed of truth values, rounding to
 * whole numbers. A truth value is 0 or 1. */
#ifndef CLARKE_OP_JUMP_H
#define CLARKE_OP_JUMP_H

#include "op/operator.h"

/* Equal, Less, LessOrEqual, Greater, GreaterOrEqual, And, Or, Not of activations and constants, with NumPy's broadcasting. */
clarke_status clarke_lower_truths(clarke_lowering *low, clarke_error *err);

/* Where by an activation of truth values: each of the others times what of the mask chooses it. */
clarke_status clarke_lower_chosen(clarke_lowering *low, clarke_holds holds, clarke_error *err);

/* Casts an activation of floats: to whether it is not 0, as truth values; or rounded towards 0, as integers. */
clarke_status clarke_lower_cast_activation(clarke_lowering *low, bool to_truths, clarke_error *err);

#endif
