/* What AD passes through an operator that jumps, as a profile has it: y = c(x) + (f(x) - c(x)), what is in brackets being a constant. c
 * is the operator's argument (ALL), or that between two ends: the range (BETWEEN), or half a step beyond it (ROUNDED). */
#ifndef CLARKE_ONNX_SURROGATE_H
#define CLARKE_ONNX_SURROGATE_H

#include "check/onnx/builder.h"
#include "check/onnx/surrogate_line.h"

value held(builder *b, value x); /* x, as a constant */
/* What is passed, but with y's numbers. */
value straight(builder *b, value passed, value y);
/* x between two ends, at each of which AD passes the gradient or does not. */
value between(builder *b, value x, const rational *least, const rational *most, bool at_least, bool at_most);
void lower_surrogate(builder *b); /* such an end, which no file has */

#endif
