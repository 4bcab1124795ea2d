/* Integers with a scale and a zero point, among activations. */
#ifndef CLARKE_OP_QUANTIZE_H
#define CLARKE_OP_QUANTIZE_H

#include "op/dequantize.h"
#include "op/operator.h"

/* Input i, a scale above 0, or a zero point, as a value that broadcasts to the layout's axes: constants that no parameter is, or what
 * is computed without a batch axis. A zero point that is left out is 0. CLARKE_NONE when it fails. */
size_t clarke_quantized_scale(clarke_lowering *low, const clarke_quantized *q, size_t i, clarke_error *err);
size_t clarke_quantized_shift(clarke_lowering *low, const clarke_quantized *q, size_t i, clarke_error *err);

/* The least and the largest number of the type that the zero point (input i) has, or the attribute output_dtype; else uint8's. */
clarke_status clarke_quantized_range(const clarke_lowering *low, size_t i, double *least, double *most, clarke_error *err);

/* What holds integers, as floats; what holds floats stays what it is. */
size_t clarke_whole_as_floats(clarke_lowering *low, size_t value, clarke_error *err);

/* 1 where the comparison of a value with a number is true, else 0. */
size_t clarke_compared(clarke_lowering *low, const char *comparison, size_t value, double number, clarke_error *err);

/* What AD passes of u by the rule, which is rounded to the nearest number between two ends, of two the even one. */
size_t clarke_surrogate_passed(clarke_lowering *low, size_t u, clarke_surrogate rule, double least, double most, clarke_error *err);

/* Whole numbers that nothing moves, those beyond an end being the end. */
size_t clarke_saturated(clarke_lowering *low, size_t value, double least, double most, clarke_error *err);

/* Input i, integers, less the zero point, an input, too, as floats: of constants numbers, and no parameter. */
size_t clarke_quantized_difference(clarke_lowering *low, const clarke_quantized *q, size_t i, size_t zero, clarke_error *err);

/* x / scale, rounded, plus the zero point, saturated: a value that holds integers. */
size_t clarke_quantized_value(clarke_lowering *low, size_t x, size_t scale, size_t shift, double least, double most, clarke_error *err);

#endif
