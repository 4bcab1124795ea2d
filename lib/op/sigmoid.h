/* Functions without kinks. */
#ifndef CLARKE_OP_SIGMOID_H
#define CLARKE_OP_SIGMOID_H

#include "op/operator.h"

/* The function of an activation, a step; NULL when it fails. */
clarke_step *clarke_lower_function(clarke_lowering *low, clarke_function function, size_t value, clarke_error *err);

#endif
