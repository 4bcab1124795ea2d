/* Floats of 8 bits: a sign, 4 or 5 bits of an exponent, 3 or 2 of a fraction. Those that are FN have no infinity; FNUZ have one zero
 * alone, and an exponent that is one less. */
#ifndef CLARKE_EXACT_FLOAT8_H
#define CLARKE_EXACT_FLOAT8_H

#include "exact/tensor.h"

#define CLARKE_FLOAT8_MOST 255 /* numbers of a type, at most */

/* Is it one of these four types? */
bool clarke_float8_is(clarke_dtype dtype);

/* The number that the code stands for; infinity and NaN give themselves. */
double clarke_float8_value(clarke_dtype dtype, uint8_t code);

/* The numbers of a type, the least first: how many. even[i]: is the last bit of number i's fraction 0, so that a number as near to it as to
 * another is rounded to it? */
size_t clarke_float8_grid(clarke_dtype dtype, double *number, bool *even);

/* The number of the type that is nearest to x, of two the even one; beyond the largest it is the largest. */
double clarke_float8_nearest(clarke_dtype dtype, double x);

#endif
