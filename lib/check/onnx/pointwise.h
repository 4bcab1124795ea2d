/* Activation functions: with kinks, and of exponentials. */
#ifndef CLARKE_KERNEL_POINTWISE_H
#define CLARKE_KERNEL_POINTWISE_H

#include "check/onnx/builder.h"

void lower_clip(builder *b);     /* Clip */
void lower_hard(builder *b);     /* HardSigmoid, HardSwish */
void lower_huber(builder *b);    /* Huber */
void lower_relu(builder *b);     /* Abs, LeakyRelu, PRelu, Relu */
void lower_softmax(builder *b);  /* LogSoftmax, Softmax */
void lower_sigmoid(builder *b);  /* Sigmoid, Tanh */
void lower_function(builder *b); /* Erf, Exp, Log, Reciprocal, Softplus, Sqrt */
void lower_gate(builder *b);     /* Gelu, Mish, Swish */
void lower_elu(builder *b);      /* Celu, Elu, Selu */
void lower_power(builder *b);    /* Pow */

step *put_relu(builder *b, const value *x);                     /* max(x, 0): one kink */
void put_logistic(builder *b, const value *x, bool hyperbolic); /* sigmoid(x), or tanh(x) */

#endif
