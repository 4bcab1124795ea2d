/* Images: what a grid samples of one, what is around its middle, windows laid back on it. */
#ifndef CLARKE_KERNEL_GRID_H
#define CLARKE_KERNEL_GRID_H

#include "check/onnx/builder.h"

void lower_grid(builder *b);   /* GridSample */
void lower_center(builder *b); /* CenterCropPad */
void lower_fold(builder *b);   /* Col2Im */

#endif
