/* The widest direction of a cone, in floats: a guess.
 *
 * For unit vectors p_0, ..., p_(n-1) it finds the point x of least norm in their convex hull (Wolfe, Finding the nearest point
 * in a polytope, 1976). Where x is not 0, <x, p_i> >= |x|^2 for all i, and no direction is farther from all the hyperplanes.
 * Where x is 0, a positive combination of few of them is 0: a Gordan vector with the least support. */
#ifndef CLARKE_REGION_WIDEST_H
#define CLARKE_REGION_WIDEST_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
  size_t dim, room;    /* room: members of a corral at most, dim + 1 */
  size_t n_corral;
  size_t *corral;      /* the points that carry x */
  double *weight;      /* theirs: x = sum of weight * point */
  double *x;           /* dim */
  bool apart;          /* all <x, p_i> > 0, as far as floats tell; else x is near 0 */
  double *gram, *factor, *right; /* room x room, of the corral; its Cholesky factor; room */
} clarke_widest;

clarke_status clarke_widest_init(clarke_widest *w, size_t dim, clarke_error *err);
void clarke_widest_clear(clarke_widest *w); /* of one that is zeroed, too */

/* point[i]: dim entries each, n >= 1 of them. The last one is where the search begins. */
void clarke_widest_find(clarke_widest *w, const double *const *point, size_t n);

#endif
