/* Convex hulls of finite sets: vertices, and whether a vector lies in one. */
#ifndef CLARKE_EXACT_HULL_H
#define CLARKE_EXACT_HULL_H

#include "exact/points.h"

/* The vertices of the convex hull of s. *known is false when a linear program stayed undecided
 * (then hull holds nothing). */
clarke_status clarke_points_hull(clarke_points *hull, bool *known, const clarke_points *s,
                                 clarke_error *err);

/* Is v a convex combination of s? INSIDE: weight[i] (n initialized) is set, nonnegative, sum 1.
 * OUTSIDE: separator (dim initialized) is set, <separator, v> > <separator, s_i> for all i. */
typedef enum { CLARKE_HULL_INSIDE, CLARKE_HULL_OUTSIDE, CLARKE_HULL_UNKNOWN } clarke_hull_place;
clarke_status clarke_points_place(clarke_hull_place *place, mpq_t *weight, mpq_t *separator,
                                  const clarke_points *s, mpq_t *v, clarke_error *err);

#endif
