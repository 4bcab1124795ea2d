/* Integer geometry in the plane, from the definitions: hulls, membership and the element of least
 * norm of small sets. A point of the line is one with y = 0. */
#ifndef CLARKE_TESTS_PROGRAM_PLANE_H
#define CLARKE_TESTS_PROGRAM_PLANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  int64_t x, y;
} vec;

int64_t plane_cross(vec a, vec b);
int64_t plane_dot(vec a, vec b);
bool plane_equal(vec a, vec b);

/* Sorts by x, then y, and drops repetitions; the number left. */
size_t plane_sort(vec *p, size_t n);
/* The vertices of the convex hull, sorted (p becomes them); the number of them. */
size_t plane_hull(vec *p, size_t n);
bool plane_among(const vec *p, size_t n, vec q);
/* Is q in the convex hull of p? */
bool plane_inside(const vec *p, size_t n, vec q);
/* The element of least norm of the hull of p, times *scale > 0. */
vec plane_least(const vec *p, size_t n, int64_t *scale);

#endif
