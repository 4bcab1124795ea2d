/* The table of operators that need no more than sums, products, pieces and windows. */
#ifndef CLARKE_ONNX_PIECEWISE_OPERATORS_H
#define CLARKE_ONNX_PIECEWISE_OPERATORS_H

#include "check/onnx/operators.h"

extern const operator_table piecewise_operators;

#endif
