/* Operators that put entries of tensors together: Concat; or something between them: Pad, Trilu. */
#ifndef CLARKE_KERNEL_SHAPE_H
#define CLARKE_KERNEL_SHAPE_H

#include "check/onnx/builder.h"

void lower_concat(builder *b); /* Concat */
void lower_pad(builder *b);    /* Pad */
void lower_trilu(builder *b);  /* Trilu */

#endif
