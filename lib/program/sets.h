/* Sets of gradients: hulls reduced to vertices, membership, the element of least norm, and the
 * conservative set of a program. Vectors are rows of rationals, dim of them. */
#ifndef CLARKE_PROGRAM_SETS_H
#define CLARKE_PROGRAM_SETS_H

#include "program/execute.h"

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
/* Its row number, or CLARKE_NONE. */
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

/* The conservative set (thesis, Definition 4): all that AD could return over every choice of proxy
 * in the Clarke set of each elementary function touched: the interval between the slopes of a
 * pointwise function, the unit vectors of the tied entries and their hull for an ORDER, both arms
 * for a BRANCH (their execution included; arms that cannot be executed make the answer unknown).
 * A NORM at zero makes it unknown. */
typedef struct {
  bool known;
  bool singleton;
  bool singleton_known; /* that much is decided, even where gradients are not rational */
  bool enumerated;     /* vertices holds the hull's vertices */
  clarke_points vertices;
  mpq_t *element[2];   /* known: an element; not a singleton: another, else NULL (dim each) */
  size_t n_units;      /* free choices: kinks with two slopes, tied entries but one... */
} clarke_conservative;

#define CLARKE_CONSERVATIVE_CORNERS ((size_t)1 << 14)

void clarke_conservative_init(clarke_conservative *c);
void clarke_conservative_clear(clarke_conservative *c);
/* Singleton or not by the paths of the thesis, Propositions 3 and 4, in polynomial time, whatever
 * the number of units; corners are enumerated while there are at most
 * CLARKE_CONSERVATIVE_CORNERS (of the units that matter) with 2^21 entries in all. Gradients must
 * be rational (known is false otherwise), and both arms of a touched branch equal at the point. */
clarke_status clarke_conservative_find(clarke_conservative *c, const clarke_execution *e,
                                       clarke_error *err);

#endif
