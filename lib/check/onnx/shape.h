/* Operators that move entries, and compute none. */
#ifndef CLARKE_KERNEL_SHAPE_H
#define CLARKE_KERNEL_SHAPE_H

#include "check/onnx/builder.h"

void lower_identity(builder *b); /* Dropout, Identity */
void lower_flatten(builder *b);
void lower_repeat(builder *b); /* Expand, Tile */
void lower_reshape(builder *b);
void lower_transpose(builder *b);
void lower_squeeze(builder *b); /* Squeeze, Unsqueeze */
void lower_constant(builder *b);
void lower_concat(builder *b);
void lower_pad(builder *b);
void lower_resize(builder *b);

#endif
