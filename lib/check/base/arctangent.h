/* The arc tangent. */
#ifndef CLARKE_KERNEL_ARCTANGENT_H
#define CLARKE_KERNEL_ARCTANGENT_H

#include "check/base/value.h"

/* A number at or below atan(t), or at or above it. It does not fall. */
void arctangent_end(rational *end, const rational *t, bool up);

#endif
