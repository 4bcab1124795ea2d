/* The operators: each node's steps. */
#ifndef CLARKE_KERNEL_NETWORK_H
#define CLARKE_KERNEL_NETWORK_H

#include "check/onnx/build.h"

extern const operator_set onnx_operators;

#endif
