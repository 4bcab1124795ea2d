/* All operators. */
#ifndef CLARKE_ONNX_NETWORK_H
#define CLARKE_ONNX_NETWORK_H

#include "check/onnx/operators.h"

extern const operator_set onnx_operators;

#endif
