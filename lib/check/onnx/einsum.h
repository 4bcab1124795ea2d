/* Einsum: sums of products, as an equation names the axes (docs/operators.md). */
#ifndef CLARKE_KERNEL_EINSUM_H
#define CLARKE_KERNEL_EINSUM_H

#include "check/onnx/builder.h"

void lower_einsum(builder *b); /* Einsum */

#endif
