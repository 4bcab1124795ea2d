/* The error function, the bell that is its slope, and roots over pi. */
#ifndef CLARKE_KERNEL_ERF_H
#define CLARKE_KERNEL_ERF_H

#include "check/base/elementary.h"

void erf_value(interval *y, const interval *x); /* y = erf(x) */
/* y = 2 exp(-x^2) / sqrt(pi), or, normal, exp(-x^2 / 2) / sqrt(2 pi); y is not x. */
void bell_value(interval *y, const interval *x, bool normal);
void root_over_pi(interval *y, unsigned long n, unsigned long d); /* y = sqrt(n / (d pi)) */

#endif
