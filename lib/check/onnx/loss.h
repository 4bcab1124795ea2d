/* NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss, as nodes among others. */
#ifndef CLARKE_ONNX_LOSS_H
#define CLARKE_ONNX_LOSS_H

#include "check/onnx/builder.h"

void lower_loss(builder *b); /* NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss */

#endif
