/* What is rounded to floats of 8 bits, as nodes within a node. */
#ifndef CLARKE_ONNX_FLOAT8_H
#define CLARKE_ONNX_FLOAT8_H

#include "check/onnx/builder.h"

/* The number of the type that is nearest to q, of two the one whose code is even; beyond the largest it is the largest. */
void float8_nearest(rational *q, size_t type);
/* u, rounded so, each entry: it holds floats of 8 bits. */
value float8_quantized(builder *b, value u, size_t type);

#endif
