/* The operators: each node's steps. */
#ifndef CLARKE_ONNX_NETWORK_H
#define CLARKE_ONNX_NETWORK_H

#include "check/onnx/build.h"

extern const operator_set onnx_operators;

#endif
