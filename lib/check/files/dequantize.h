/* Integers that are stored with a scale: what DequantizeLinear makes of constants. */
#ifndef CLARKE_KERNEL_DEQUANTIZE_H
#define CLARKE_KERNEL_DEQUANTIZE_H

#include "check/files/onnx.h"

/* How scales and zero points lie beside the entries of a tensor: one for all; one for each place along the axis; or with a block that is
 * not 0 one for so many places. */
typedef struct {
  size_t rank;
  const size_t *dims;
  size_t axis, block;
} scale_layout;

bool scales_fit(const scale_layout *l, size_t rank, const size_t *dims); /* has it a scale for each entry? */
size_t scale_of(const scale_layout *l, size_t count, size_t e);          /* which of `count` scales entry e has */

bool dequantizes(size_t type); /* of 2, 4, 8 or 16 bits, or int32; or floats of 8? */

/* Is it a zero point of floats of 8 bits, all 0? It is as if there were none. */
bool float8_zero(const tensor *t);

/* q becomes (q - shift), as a float32, times the scale, rounded to the type; shift may be NULL. False where that is neither 0 nor a normal
 * number, or rounded twice, or there is a shift and one of both is no whole number below 2^24. */
bool dequantized(rational *q, const rational *shift, const rational *scale, size_t type);

/* DequantizeLinears of stored integers among its nodes give way to initializers of their outputs' names, behind the others. Scale and
 * zero point are initializers, or Constant nodes before the node. Nodes that do not fit stay. */
void dequantize_weights(model *m);

#endif
