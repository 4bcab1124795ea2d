/* Operators with windows: convolutions and pools. */
#ifndef CLARKE_KERNEL_CONVOLUTION_H
#define CLARKE_KERNEL_CONVOLUTION_H

#include "check/onnx/builder.h"

void lower_convolution(builder *b);    /* Conv */
void lower_pool(builder *b);           /* AveragePool, MaxPool */
void lower_global_maximum(builder *b); /* GlobalMaxPool */

#endif
