/* Entries that are minus infinity, before a Softmax: an attention's mask. */
#ifndef CLARKE_KERNEL_MASKED_H
#define CLARKE_KERNEL_MASKED_H

#include "check/onnx/builder.h"

/* The softmax of lines of x, of what is not marked in each; 0 at what is. */
void put_masked(builder *b, const value *x, size_t length, size_t stride);

#endif
