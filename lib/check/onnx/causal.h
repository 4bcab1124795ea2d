/* CausalConvWithState. */
#ifndef CLARKE_ONNX_CAUSAL_H
#define CLARKE_ONNX_CAUSAL_H

#include "check/onnx/builder.h"

void lower_causal(builder *b); /* CausalConvWithState */

#endif
