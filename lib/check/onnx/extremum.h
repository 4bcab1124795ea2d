/* ReduceMax, ReduceMin, Max, Min, and those that share, made into steps (docs/operators.md). */
#ifndef CLARKE_KERNEL_EXTREMUM_H
#define CLARKE_KERNEL_EXTREMUM_H

#include "check/onnx/builder.h"

void lower_extremum(builder *b); /* ReduceMax, ReduceMin, SharedMax, SharedMin */
void lower_larger(builder *b);   /* Max, Min, SharedMaximum, SharedMinimum */

#endif
