/* Finite sets of rational vectors: hulls reduced to vertices, membership, the element of least norm. Vectors are rows of
 * rationals, dim of them. */
#ifndef CLARKE_EXACT_POINTS_H
#define CLARKE_EXACT_POINTS_H

#include "base/status.h"

#include <gmp.h>
#include <stdbool.h>
#include <stddef.h>

/* A finite set of vectors: sorted lexicographically, no two equal. */
typedef struct {
  size_t dim, n, capacity;
  mpq_t *entry; /* n x dim */
} clarke_points;

void clarke_points_init(clarke_points *s, size_t dim);
void clarke_points_clear(clarke_points *s);
/* Copies v in unless it is there. */
clarke_status clarke_points_add(clarke_points *s, mpq_t *v, clarke_error *err);
/* The n vectors of rows (n x dim), sorted, each once, in place of what s held. */
clarke_status clarke_points_set(clarke_points *s, size_t n, mpq_t *rows, clarke_error *err);
/* Its row number, or SIZE_MAX. */
size_t clarke_points_find(const clarke_points *s, mpq_t *v);

/* The vertices of the convex hull of s. *known is false when a linear program stayed undecided
 * (then hull holds nothing). */
clarke_status clarke_points_hull(clarke_points *hull, bool *known, const clarke_points *s,
                                 clarke_error *err);

/* Is v a convex combination of s? INSIDE: weight[i] (n initialized) is set, nonnegative, sum 1.
 * OUTSIDE: separator (dim initialized) is set, <separator, v> > <separator, s_i> for all i. */
typedef enum { CLARKE_HULL_INSIDE, CLARKE_HULL_OUTSIDE, CLARKE_HULL_UNKNOWN } clarke_hull_place;
clarke_status clarke_points_place(clarke_hull_place *place, mpq_t *weight, mpq_t *separator,
                                  const clarke_points *s, mpq_t *v, clarke_error *err);

/* The element of least Euclidean norm of conv s (s not empty), exactly: Wolfe's algorithm in
 * rationals. */
clarke_status clarke_points_least(mpq_t *least, const clarke_points *s, clarke_error *err);

#endif
