/* RoiAlign, and Upsample: images by shares of their entries. */
#ifndef CLARKE_ONNX_ROI_H
#define CLARKE_ONNX_ROI_H

#include "check/onnx/builder.h"

void lower_boxes(builder *b);    /* RoiAlign */
void lower_upsample(builder *b); /* Upsample: a Resize */

#endif
