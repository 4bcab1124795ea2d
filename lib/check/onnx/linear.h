/* Operators that are linear in activations: products with matrices, arithmetic, means. */
#ifndef CLARKE_KERNEL_LINEAR_H
#define CLARKE_KERNEL_LINEAR_H

#include "check/onnx/builder.h"

void lower_product(builder *b);    /* Gemm, MatMul */
void lower_arithmetic(builder *b); /* Add, Div, Mul, Sub */
void lower_sum(builder *b);        /* Mean, Sum */
void lower_negation(builder *b);   /* Neg */
void lower_mean(builder *b);       /* GlobalAveragePool, ReduceMean, ReduceSum */

#endif
