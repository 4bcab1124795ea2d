/* Power series of intervals, n terms each. */
#ifndef CLARKE_KERNEL_POWER_SERIES_H
#define CLARKE_KERNEL_POWER_SERIES_H

#include "check/base/value.h"

void series_mul(interval *y, const interval *a, const interval *b, size_t n); /* y is neither */
void series_div(interval *y, const interval *a, const interval *b,
                size_t n); /* y is neither; a b[0] that may be 0 fails */

#endif
