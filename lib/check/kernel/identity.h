/* Which entries are the same function of the parameters, near the weights. */
#ifndef CLARKE_KERNEL_IDENTITY_H
#define CLARKE_KERNEL_IDENTITY_H

#include "check/kernel/point.h"

/* A number that entries of a sample (or of all that are coupled) share only if they are one function; ZERO when that is the
 * constant 0. It is found with those of the whole step, and of all before it: their windows' places must be known. */
size_t same_as(const point *p, size_t s, size_t e);
#define ZERO 1
/* are the two entries known to be one function? */
bool one_identity(const point *p, size_t s, size_t e, size_t s2, size_t e2);
/* -1: one is known to be minus the other, and neither is constant; 1: they are known to be one function; 0: neither is known. Of one
 * sample, of whatever steps; only values are asked of it. */
int one_identity_turned(const point *p, size_t s, size_t e, size_t s2, size_t e2);
void identities_forget(const point *p, size_t sample); /* they are found again when they are asked for */
void rows_prepare(step *st);                           /* fills alike, uniform and telling */

#endif
