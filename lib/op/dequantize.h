/* Integers that are stored with a scale: what DequantizeLinear makes of constants. Weights so stored are the model's parameters. */
#ifndef CLARKE_OP_DEQUANTIZE_H
#define CLARKE_OP_DEQUANTIZE_H

#include "op/model.h"

/* A scale, or a zero point, of a tensor of these dims: one entry, one for each place along the axis, or, with `block`, one for so many
 * places one after another. */
typedef struct {
  size_t rank, dims[CLARKE_MAX_RANK];
  size_t axis, block; /* 0: no blocks */
} clarke_quantized;

/* What is wrong with a scale of that shape; NULL: it fits. */
const char *clarke_quantized_fits(const clarke_quantized *q, size_t rank, const size_t *dims, size_t count);

/* Which of the scale's entries, `count` in all, entry e of the tensor has. */
size_t clarke_quantized_entry(const clarke_quantized *q, size_t count, size_t e);

/* Is it a type of DequantizeLinear's integers: of 2, 4, 8 or 16 bits, or int32; or one of floats of 8 bits? */
bool clarke_dequantizes(clarke_dtype dtype);

/* A zero point of floats of 8 bits is 0 everywhere, and then as if it were left out: is that one, and is it not so? */
bool clarke_float8_zero(clarke_dtype dtype, const double *real, size_t count);

/* (number - zero) as a float32, times the scale, rounded to the scale's type. NaN where that is neither 0 nor a normal number, or
 * another one than the number that is nearest; and where there is a zero point and one of both is 2^24 in size, or more: runtimes differ. */
double clarke_dequantized(double number, int64_t zero, double scale, clarke_dtype type);

/* DequantizeLinear nodes of initializers of integers, whose scale and zero point are initializers or Constant nodes, are replaced by
 * initializers, as if the file had the floats so: behind its own, in the order of the nodes. The nodes stay in their places, and are
 * promoted. Nodes of other shapes are left as they are. */
clarke_status clarke_dequantize_weights(clarke_model *m, clarke_error *err);

#endif
