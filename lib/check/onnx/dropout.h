/* Dropout: nothing, or by a mask of the batch's (docs/operators.md). */
#ifndef CLARKE_KERNEL_DROPOUT_H
#define CLARKE_KERNEL_DROPOUT_H

#include "check/onnx/builder.h"

void lower_dropout(builder *b); /* Dropout */

#endif
