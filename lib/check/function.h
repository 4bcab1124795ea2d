/* Functions of one number without kinks, and their derivatives, of intervals. */
#ifndef CLARKE_KERNEL_FUNCTION_H
#define CLARKE_KERNEL_FUNCTION_H

#include "elementary.h"

/* NORMAL: (1 + erf(x / sqrt(2))) / 2. NORMAL_TANH: sigmoid(sqrt(8 / pi) (x + 0.044715 x^3)). */
typedef enum { F_EXP, F_ERF, F_SOFTPLUS, F_NORMAL, F_NORMAL_TANH } function;

void function_value(interval *y, function f, const interval *x); /* y may be x */
void function_slope(interval *y, function f, const interval *x);

#endif
