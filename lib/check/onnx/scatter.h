/* Entries put at places. */
#ifndef CLARKE_ONNX_SCATTER_H
#define CLARKE_ONNX_SCATTER_H

#include "check/onnx/builder.h"

void lower_scatter(builder *b); /* ScatterElements, ScatterND */

#endif
