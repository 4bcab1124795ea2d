/* Integers that are added up. */
#ifndef CLARKE_OP_QLINEAR_H
#define CLARKE_OP_QLINEAR_H

#include "op/operator.h"

/* Does an input of an Add hold integers that are computed of activations? */
bool clarke_adds_integers(const clarke_lowering *low);

/* Their sum, integers of 32 bits. Where it may be none, whether it is one is a question of its domain. */
clarke_status clarke_lower_integer_sum(clarke_lowering *low, clarke_error *err);

/* The value less its zero point, both as integers that its scale makes of it, as DynamicQuantizeLinear has them; *scale: that. Floats, or
 * CLARKE_NONE when it fails. */
size_t clarke_dynamic_difference(clarke_lowering *low, size_t value, size_t *scale, clarke_error *err);

#endif
