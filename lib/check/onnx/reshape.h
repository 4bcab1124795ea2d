/* Operators that move entries of one tensor, and compute none. */
#ifndef CLARKE_ONNX_RESHAPE_H
#define CLARKE_ONNX_RESHAPE_H

#include "check/onnx/builder.h"

void lower_identity(builder *b);  /* Dropout, Identity */
void lower_flatten(builder *b);   /* Flatten */
void lower_repeat(builder *b);    /* Expand, Tile */
void lower_reshape(builder *b);   /* Reshape */
void lower_transpose(builder *b); /* Transpose */
void lower_squeeze(builder *b);   /* Squeeze, Unsqueeze */
void lower_constant(builder *b);  /* Constant */

#endif
