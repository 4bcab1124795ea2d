/* Optimizers' updates, ONNX's domain of training. */
#ifndef CLARKE_ONNX_OPTIMIZER_H
#define CLARKE_ONNX_OPTIMIZER_H

#include "check/onnx/builder.h"

/* One update of all tensors that the node has, by each rule. */
void lower_adagrad(builder *b);
void lower_adam(builder *b);
void lower_momentum(builder *b);

#endif
