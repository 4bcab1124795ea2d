/* Operators along an axis that are others, and Mod of floats. */
#ifndef CLARKE_ONNX_ALONG_H
#define CLARKE_ONNX_ALONG_H

#include "check/onnx/builder.h"

/* What the node makes, of nodes within it. */
void lower_hardmax(builder *b);
void lower_winner(builder *b); /* ArgMax, ArgMin */
void lower_compress(builder *b);
void lower_tensor_scatter(builder *b);
void lower_reverse(builder *b);
void lower_modulo(builder *b);

#endif
