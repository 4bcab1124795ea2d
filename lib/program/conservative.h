/* The conservative set of a program at a point. */
#ifndef CLARKE_PROGRAM_CONSERVATIVE_H
#define CLARKE_PROGRAM_CONSERVATIVE_H

#include "exact/points.h"
#include "program/execute.h"

/* The conservative set (thesis, Definition 4): all that AD could return over every choice of proxy
 * in the Clarke set of each elementary function touched: the interval between the slopes of a
 * pointwise function, the unit vectors of the tied entries and their hull for an ORDER, both arms
 * for a BRANCH (their execution included; arms that cannot be executed make the answer unknown).
 * A NORM at zero makes it unknown, and a root at 0, which has no Clarke set there. */
typedef struct {
  bool rooted; /* there is such a root */
  bool known;
  bool singleton;
  bool singleton_known; /* that much is decided, even where gradients are not rational */
  bool enumerated;     /* vertices holds the hull's vertices */
  clarke_points vertices;
  mpq_t *element[2];   /* known: an element; not a singleton: another, else NULL (dim each) */
  size_t n_units;      /* free choices: kinks with two slopes, tied entries but one... */
} clarke_conservative;

void clarke_conservative_init(clarke_conservative *c);
void clarke_conservative_clear(clarke_conservative *c);
/* Singleton or not by the paths of the thesis, Propositions 3 and 4, in polynomial time, whatever
 * the number of units; corners are enumerated while there are at most
 * CLARKE_CONSERVATIVE_CORNERS (of the units that matter) with 2^21 entries in all. Gradients must
 * be rational (known is false otherwise), and both arms of a touched branch equal at the point. */
clarke_status clarke_conservative_find(clarke_conservative *c, const clarke_execution *e,
                                       clarke_error *err);

#endif
