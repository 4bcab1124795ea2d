/* Activation functions with kinks. */
#ifndef CLARKE_ONNX_PIECEWISE_H
#define CLARKE_ONNX_PIECEWISE_H

#include "check/onnx/builder.h"

void lower_clip(builder *b);  /* Clip */
void lower_hard(builder *b);  /* HardSigmoid, HardSwish */
void lower_huber(builder *b); /* Huber */
void lower_relu(builder *b);  /* Abs, LeakyRelu, PRelu, Relu */

step *put_relu(builder *b, const value *x); /* max(x, 0): one kink */

#endif
