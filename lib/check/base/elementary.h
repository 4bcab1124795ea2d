/* Elementary functions of rationals and intervals, every operation rounded outward. */
#ifndef CLARKE_KERNEL_ELEMENTARY_H
#define CLARKE_KERNEL_ELEMENTARY_H

#include "check/base/value.h"

/* One end of exp(-t 2^-p), t >= 0, in units of 2^-p. */
void exp_fixed(integer *end, const integer *t, unsigned long p, bool up);
/* One end of exp(-t), t >= 0, and of log z, z >= 1. */
void exp_end(rational *end, const rational *t, bool up);
void log_end(rational *end, const rational *z, bool up);
void sqrt_end(rational *end, const rational *q, bool up); /* q >= 0; a rational root is exact */
/* Of n entries, stride apart; or its logarithm. */
void interval_softmax(interval *y, const interval *x, size_t n, size_t stride, bool logarithm);

#endif
