/* Integers with a scale and a zero point, as nodes within a node: q is scale (q - zero point). */
#ifndef CLARKE_ONNX_QUANTIZE_H
#define CLARKE_ONNX_QUANTIZE_H

#include "check/files/dequantize.h"
#include "check/onnx/builder.h"

/* The least and the largest number of a type. */
typedef struct {
  long least, most;
} ends;

value saturated(builder *b, value x, ends to); /* whole numbers, which nothing moves, within these */

value whole_number(const builder *b, long n); /* a constant */
value as_floats(builder *b, value x);         /* what holds integers, as floats; else x */

/* Input i, a scale above 0, or, `shift`, a zero point, which is 0 where it is left out: as numbers that broadcast to the axes. */
value spread_input(builder *b, const scale_layout *l, size_t i, bool shift);
/* Those of zero point i's type, or of what output_dtype says, or uint8's. */
ends ends_of(const builder *b, size_t i);
/* x / scale, rounded, plus the zero point, within the ends: integers. */
value quantized(builder *b, value x, value scale, value shift, ends to);
/* What AD passes of u, which is rounded to the nearest number within the ends, of two the even one. */
value passes_within(builder *b, value u, surrogate_rule rule, ends to);
/* Input i, integers, less the zero point that is an input, too. */
value difference(builder *b, const scale_layout *l, size_t i, size_t origin);

void lower_quantize(builder *b);   /* QuantizeLinear */
void lower_dequantize(builder *b); /* DequantizeLinear */

#endif
