/* DeformConv: a convolution whose taps lie where constant offsets say. */
#ifndef CLARKE_ONNX_DEFORM_H
#define CLARKE_ONNX_DEFORM_H

#include "check/onnx/builder.h"

void lower_deform(builder *b); /* DeformConv */

#endif
