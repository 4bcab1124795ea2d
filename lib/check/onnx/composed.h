/* Nodes that are made of others: a Gemm of a matrix turned round, or with a bias of several rows; a Clip by activations. */
#ifndef CLARKE_ONNX_COMPOSED_H
#define CLARKE_ONNX_COMPOSED_H

#include "check/onnx/builder.h"

bool lower_composed(builder *b); /* makes the node, if it is one */

#endif
