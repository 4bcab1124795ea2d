/* TopK, Sorted, made into steps (docs/operators.md). */
#ifndef CLARKE_KERNEL_SORTED_H
#define CLARKE_KERNEL_SORTED_H

#include "check/onnx/builder.h"

void lower_sorted(builder *b); /* Sorted, TopK */

#endif
