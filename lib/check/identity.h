/* Which entries are the same function of the parameters, near the weights. */
#ifndef CLARKE_KERNEL_IDENTITY_H
#define CLARKE_KERNEL_IDENTITY_H

#include "point.h"

/* 0: constant, known by its value; else a number that entries of a sample share only if they are one
 * function, ZERO when that is the constant 0. */
size_t same_as(const point *p, size_t s, size_t e);
#define ZERO 1
/* Some order of entries; 0 when they are known to be one function. */
int compare_entries(const point *p, size_t s, size_t e, size_t s2, size_t e2);
bool left_out(const point *p, source x, size_t e); /* is it constant and 0: a place of a sum that is left out? */

#endif
