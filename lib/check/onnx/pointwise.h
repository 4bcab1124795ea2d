/* Activation functions of exponentials, and other functions of each entry. */
#ifndef CLARKE_KERNEL_POINTWISE_H
#define CLARKE_KERNEL_POINTWISE_H

#include "check/onnx/builder.h"

void lower_softmax(builder *b);  /* LogSoftmax, Softmax */
void lower_sigmoid(builder *b);  /* Sigmoid, Tanh */
void lower_function(builder *b); /* Erf, Exp, Log, Reciprocal, Softplus, Sqrt */
void lower_gate(builder *b);     /* Gelu, Mish, Swish */
void lower_elu(builder *b);      /* Celu, Elu, Selu */
void lower_power(builder *b);    /* Pow */

void put_logistic(builder *b, const value *x, bool hyperbolic); /* sigmoid(x), or tanh(x) */

#endif
