/* Integers that are added up. */
#ifndef CLARKE_OP_QLINEAR_H
#define CLARKE_OP_QLINEAR_H

#include "op/operator.h"

/* Does an input of an Add hold integers that are computed of activations? */
bool clarke_adds_integers(const clarke_lowering *low);

/* Their sum, integers of 32 bits. Where it may be none, whether it is one is a question of its domain. */
clarke_status clarke_lower_integer_sum(clarke_lowering *low, clarke_error *err);

#endif
