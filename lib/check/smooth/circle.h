/* Sine and cosine. */
#ifndef CLARKE_SMOOTH_CIRCLE_H
#define CLARKE_SMOOTH_CIRCLE_H

#include "check/base/value.h"

/* y = sin(x), or cos(x), of an x up to 2^4000 in size; y may be x. */
void circle_value(interval *y, const interval *x, bool cosine);

#endif
