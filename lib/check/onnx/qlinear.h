/* Products of integers that have scales and zero points, and integers whose scale is computed. */
#ifndef CLARKE_ONNX_QLINEAR_H
#define CLARKE_ONNX_QLINEAR_H

#include "check/onnx/builder.h"

void lower_integer_convolution(builder *b); /* ConvInteger, QLinearConv */
void lower_integer_product(builder *b);     /* MatMulInteger, QLinearMatMul */
bool adds_integers(const builder *b);       /* is it a sum of integers that are computed of activations? */
void lower_integer_sum(builder *b);         /* such an Add */
void lower_dynamic(builder *b);             /* DynamicQuantizeLinear */

/* x less its zero point, both as integers of the scale that DynamicQuantizeLinear gives it; *scale: that. */
value dynamic_difference(builder *b, value x, value *scale);

#endif
