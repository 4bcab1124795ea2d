/* Products of integers that have scales and zero points, and integers whose scale is computed. */
#ifndef CLARKE_ONNX_QLINEAR_H
#define CLARKE_ONNX_QLINEAR_H

#include "check/onnx/builder.h"

void lower_integer_convolution(builder *b); /* ConvInteger, QLinearConv */
void lower_integer_product(builder *b);     /* MatMulInteger, QLinearMatMul */
void lower_dynamic(builder *b);             /* DynamicQuantizeLinear */

#endif
