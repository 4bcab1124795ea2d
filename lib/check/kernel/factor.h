/* Arguments that are affine but for a factor (docs/proof-format.md, "Factors"). */
#ifndef CLARKE_KERNEL_FACTOR_H
#define CLARKE_KERNEL_FACTOR_H

#include "check/kernel/point.h"

/* Is a touched kink's argument less its kink (a and b 0), or a window's option a less option b, near the weights within the
 * settled cell an affine function times one that is continuous and not zero there? */
bool affine_but_for_a_factor(const point *p, const cell *c, const touch *t, size_t a, size_t b);

/* Is entry a of step s, or where b is another entry that less entry b, certainly zero at the weights, for it cancels but for a
 * root? Asked of small networks alone. */
bool cancels(const point *p, size_t s, size_t a, size_t b);

#endif
