/* Elementary functions of rationals and intervals, every operation rounded outward. */
#ifndef CLARKE_KERNEL_ELEMENTARY_H
#define CLARKE_KERNEL_ELEMENTARY_H

#include "check/base/value.h"

/* Both ends of exp(-t 2^-p), t >= 0, in units of 2^-p; neither is t's own memory. */
void exp_ends(integer *lo, integer *hi, const integer *t, unsigned long p);
/* One end of exp(-t), t >= 0, and of log z, z >= 1. */
void exp_end(rational *end, const rational *t, bool up);
/* One end of exp(t), t up to 65536. */
void exponential(rational *end, const rational *t, bool up);
void log_end(rational *end, const rational *z, bool up);
void sqrt_end(rational *end, const rational *q, bool up); /* q >= 0; a rational root is exact */
/* Encloses the softmax of n entries, stride apart; or its logarithm. */
void interval_softmax(interval *y, const interval *x, size_t n, size_t stride, bool logarithm);

#endif
