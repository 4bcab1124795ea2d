/* Functions with a domain: 1/x, roots, logarithms. */
#ifndef CLARKE_OP_QUOTIENT_H
#define CLARKE_OP_QUOTIENT_H

#include "op/operator.h"

/* The value of a function with a domain, in a step of its own; CLARKE_NONE when it fails. */
size_t clarke_lower_inside(clarke_lowering *low, clarke_function function, size_t value, clarke_error *err);

#endif
