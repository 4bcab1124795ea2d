/* Integers with a scale and a zero point, as nodes within a node: q is scale (q - zero point). */
#ifndef CLARKE_ONNX_QUANTIZE_H
#define CLARKE_ONNX_QUANTIZE_H

#include "check/onnx/builder.h"

/* The least and the largest number of a type. */
typedef struct {
  long least, most;
} ends;

value saturated(builder *b, value x, ends to); /* whole numbers, which nothing moves, within these */

void lower_quantize(builder *b);   /* QuantizeLinear */
void lower_dequantize(builder *b); /* DequantizeLinear */

#endif
