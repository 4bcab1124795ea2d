/* QuantizeLinear to floats of 8 bits. */
#ifndef CLARKE_OP_FLOAT8_H
#define CLARKE_OP_FLOAT8_H

#include "exact/float8.h"
#include "op/operator.h"

/* The type of floats of 8 bits that a node makes, by its zero point (input i) or else its attribute output_dtype; another type: none. */
clarke_dtype clarke_float8_made(const clarke_lowering *low, size_t i);

/* u, rounded to the type's numbers, of two that are as near to the even one; beyond the largest it is the largest. With a surrogate AD
 * passes a gradient. It holds floats of 8 bits. */
size_t clarke_float8_quantized(clarke_lowering *low, size_t u, clarke_dtype type, clarke_error *err);

#endif
