/* Operators that ONNX states by others, as nodes within a node: functions, norms, products along an axis, choices of two values. */
#ifndef CLARKE_ONNX_STATED_H
#define CLARKE_ONNX_STATED_H

#include "check/onnx/builder.h"

void lower_stated_function(builder *b); /* Acosh, Asinh, Atanh, Cosh, Sinh, Softsign, SwiGLU */
void lower_angle(builder *b);           /* Acos, Asin, Tan */
void lower_responses(builder *b);       /* LRN */
void lower_affine_grid(builder *b);     /* AffineGrid */
void lower_threshold(builder *b);       /* ThresholdedRelu, Shrink */
void lower_sizes(builder *b);           /* ReduceL1 */
void lower_by_norm(builder *b);         /* LpNormalization */
void lower_norm(builder *b);            /* GlobalLpPool, LpPool */
void lower_determinant(builder *b);     /* Det */
void lower_deviation(builder *b);       /* MeanVarianceNormalization */
void lower_running_product(builder *b); /* CumProd */
/* CumSum, and ReduceProd over n axes, or all: where they are activations. */
void lower_running_activation(builder *b);
void lower_product_over(builder *b, size_t n, const long *axes);
void lower_one_hot(builder *b); /* OneHot */

void lower_scaler(builder *b); /* Scaler */

#endif
