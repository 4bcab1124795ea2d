/* The point of a convex hull that is nearest to the origin, in floats: a guess. */
#ifndef CLARKE_EXACT_MDM_H
#define CLARKE_EXACT_MDM_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

double clarke_dot(const double *a, const double *b, size_t n); /* <a, b>, as doubles round it */

/* x (dim entries) for n points (n x dim). *outside: <x, point> > 0 for all of them. */
clarke_status clarke_nearest(bool *outside, double *x, const double *point, size_t n, size_t dim,
                             clarke_error *err);

#endif
