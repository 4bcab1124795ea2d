/* What is computed of constants of 64-bit integers when a network is built: shapes, as exporters write them. */
#ifndef CLARKE_OP_INTEGERS_H
#define CLARKE_OP_INTEGERS_H

#include "op/operator.h"

/* Are all inputs such constants, one or more? */
bool clarke_lower_of_integers(const clarke_lowering *low);

/* Add, Sub, Mul, Div, Mod, Equal, Where of them, with NumPy's broadcasting; Concat of lists. */
clarke_status clarke_lower_integers_computed(clarke_lowering *low, clarke_error *err);
clarke_status clarke_lower_integers_joined(clarke_lowering *low, clarke_error *err);

/* The shape that all inputs, constants, broadcast to; false where they do not. Entry f of it is this entry of v. */
bool clarke_lower_constants_shape(const clarke_lowering *low, size_t *rank, size_t *dims);
size_t clarke_lower_constants_entry(const clarke_value *v, size_t rank, const size_t *dims, size_t f);

#endif
