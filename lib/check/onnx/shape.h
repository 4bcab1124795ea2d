/* Operators that move entries, and compute none. */
#ifndef CLARKE_KERNEL_SHAPE_H
#define CLARKE_KERNEL_SHAPE_H

#include "check/onnx/builder.h"

void lower_identity(builder *b);  /* Dropout, Identity */
void lower_flatten(builder *b);   /* Flatten */
void lower_repeat(builder *b);    /* Expand, Tile */
void lower_reshape(builder *b);   /* Reshape */
void lower_transpose(builder *b); /* Transpose */
void lower_squeeze(builder *b);   /* Squeeze, Unsqueeze */
void lower_constant(builder *b);  /* Constant */
void lower_concat(builder *b);    /* Concat */
void lower_pad(builder *b);       /* Pad */
void lower_trilu(builder *b);     /* Trilu */

#endif
