/* How finely each value of a pass in slices is kept: chosen before the pass, from norms (docs/filter.md, "Slices").
 *
 * No bound rests on the choice: a pass that is planned too coarsely leaves places open. The growth of errors, on which the
 * bounds do rest, is here too: it is the same for all samples. */
#ifndef CLARKE_NETWORK_SLICES_PLAN_H
#define CLARKE_NETWORK_SLICES_PLAN_H

#include "network/graph.h"

#include <mpfr.h>

typedef struct clarke_slicing clarke_slicing; /* slices.h */

/* How a step passes on the errors of an operand: upper bounds of factors of their Euclidean norm, and of the largest. Of
 * a DENSE step row is the largest norm of a row of W, by which one entry's error exceeds the norm of its column's, and
 * column that by which a column's may exceed the norm of all (1 where no column takes an entry twice). */
typedef struct {
  double norm, most;
} clarke_growth;

typedef struct {
  const clarke_graph *g;
  long width;             /* bits of a digit */
  bool *needed;           /* n_values */
  long *low;              /* n_values: the lowest place, a multiple of width */
  clarke_growth **growth; /* n_steps: by operand */
  double *row, *column;   /* n_steps: of DENSE */
  bool *apart;            /* n_steps: of SUM, no entry takes more than one activation: squares of norms add */
  void (*seen)(void *context, const clarke_slicing *pass, size_t value); /* NULL, or told each value when it is made */
  void *context;
} clarke_slice_plan;

/* Does the pass follow all that kinks need? */
bool clarke_slices_serve(const clarke_graph *g, int8_t *const *piece, size_t n);

/* For samples whose values' sizes are like those of the first of x; piece: the places, n columns of them; what no open
 * one depends on is not needed. */
clarke_status clarke_slice_plan_make(clarke_slice_plan *p, const clarke_graph *g, const clarke_tensor *x,
                                     int8_t *const *piece, size_t n, clarke_error *err);
void clarke_slice_plan_clear(clarke_slice_plan *p);

#endif
