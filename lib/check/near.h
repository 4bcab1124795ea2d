/* Near values: integers near an entry's value, which decide most of the pieces on which entries lie. */
#ifndef CLARKE_KERNEL_NEAR_H
#define CLARKE_KERNEL_NEAR_H

#include "point.h"

/* What is known to be near a step's values of one sample, or of all when they are coupled: the value of entry e is within r
 * units of c[e / apart], a unit being 2^-(session_bits + GUARD). */
typedef struct {
  integer *c, r;
  size_t n;
  bool known;
} near;

/* What steps need for near values, once; bounds and simplices take the factors from there, too. */
void near_prepare(network *net);
/* Fills what is NONE of place for a sample, or all, and returns the near values that decided, where they could. */
near *near_values(point *p, size_t sample);
void near_free(const point *p, near *v);
void point_evaluate(point *p); /* finds the touched kinks, by them */

#endif
