/* Directions in the cone of a path, in floats, and the options of all classes that each leads to: witnesses. They tell which
 * options are alive without a linear program, and where the gains may still be large.
 *
 * They are drawn by a hit-and-run walk (Smith, 1984): a random line through a point, and a random place on it inside the
 * cone and the unit ball. */
#ifndef CLARKE_AUDIT_POOL_H
#define CLARKE_AUDIT_POOL_H

#include "audit/refutations.h"
#include "audit/gains.h"

typedef struct {
  const clarke_classes *c;
  size_t n, most;
  double *direction; /* n x columns */
  uint16_t *option;  /* n x classes */
} clarke_pool;

clarke_status clarke_pool_init(clarke_pool *p, const clarke_classes *c, clarke_error *err);
void clarke_pool_clear(clarke_pool *p);

/* One more direction, unless there are as many as may be, or it does not take the options chosen (CLARKE_UNCHOSEN: any). */
void clarke_pool_add(clarke_pool *p, const double *direction, const size_t *chosen);

/* Draws more, within the half-spaces <row, x> > 0 (n rows by columns). An empty pool stays empty when there are rows. */
clarke_status clarke_pool_fill(clarke_pool *p, const double *row, size_t n, const size_t *chosen, uint64_t *state,
                               clarke_error *err);

/* Adds the directions of `from` that take the class's option. */
void clarke_pool_take(clarke_pool *p, const clarke_pool *from, size_t class, size_t option);

/* The direction whose cell adds most: its options. -INFINITY when the pool is empty. */
double clarke_pool_best(size_t *cell, const clarke_pool *p, const clarke_gains *g);

/* The class to branch on next, of those open; CLARKE_NONE: none changes anything. bound: the most that all touches add
 * with the options chosen.
 *
 * When the witnesses say that a leaf is near, it is the one that costs the bound most of what none of them takes: its other
 * options are refuted, as a rule. Else it is the one whose parts have the least bounds, by their own witnesses. */
clarke_status clarke_pool_choose(size_t *class, const clarke_pool *p, const clarke_gains *g, const size_t *chosen,
                                 double bound, clarke_error *err);

#endif
