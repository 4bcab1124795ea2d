/* Functions of one number without kinks, and their derivatives, of intervals. */
#ifndef CLARKE_KERNEL_FUNCTION_H
#define CLARKE_KERNEL_FUNCTION_H

#include "check/base/elementary.h"

/* NORMAL: (1 + erf(x / sqrt(2))) / 2. NORMAL_TANH: sigmoid(sqrt(8 / pi) (x + 0.044715 x^3)). ELU: x, or exp(x) - 1
 * below 0. From RECIPROCAL on they are smooth in a domain: RECIPROCAL away from 0, ROOT and LOG above 0. The others jump, and are
 * constant elsewhere, which is their domain: ABOVE, 1 above 0 and else 0; FLOOR; ROUND to the nearest whole number, of two the even one;
 * TRUNCATE, towards 0, of numbers below 2^31 in size. HELD is x, as a constant: it jumps nowhere. */
typedef enum {
  F_EXP,
  F_ERF,
  F_SOFTPLUS,
  F_NORMAL,
  F_NORMAL_TANH,
  F_ELU,
  F_SIN,
  F_COS,
  F_ATAN,
  F_RECIPROCAL,
  F_ROOT,
  F_LOG,
  F_ABOVE,
  F_FLOOR,
  F_ROUND,
  F_TRUNCATE,
  F_HELD
} function;

const char *function_name(function f); /* as messages and operators have it */
bool function_has_domain(function f);  /* is x to be not 0, above 0, or off its jumps? */
bool function_jumps(function f);       /* is it constant off its jumps? */
/* Does x lie in the domain? UNDECIDED when it does not say. Of one that jumps x may be there, if nothing moves it: `still`. */
bool function_inside(function f, const interval *x, bool still);
/* Is it sure that all of x does? */
bool function_holds(function f, const interval *x, bool still);
/* Encloses f(x), or its derivative, for an x in the domain. */
void function_value(interval *y, function f, const interval *x); /* y may be x */
void function_slope(interval *y, function f, const interval *x);

#endif
