/* Functions of one number without kinks (steps.h), and their derivatives, of intervals. */
#ifndef CLARKE_SMOOTH_FUNCTION_H
#define CLARKE_SMOOTH_FUNCTION_H

#include "check/kernel/smooth.h"

/* Does x lie in the domain? UNDECIDED when it does not say. Of one that jumps x may be there, if nothing moves it: `still`. */
bool function_inside(function f, const interval *x, bool still);
/* Is it sure that all of x does? */
bool function_holds(function f, const interval *x, bool still);
/* Encloses f(x), or its derivative, for an x in the domain. */
void function_value(interval *y, function f, const interval *x); /* y may be x */
void function_slope(interval *y, function f, const interval *x);
bool function_rational_slope(function f, const interval *x);
/* As smooth.h has it. */
bool function_near(const point *p, struct near *v, size_t s, size_t sample);

#endif
