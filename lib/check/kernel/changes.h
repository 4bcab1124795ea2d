/* Weights of cells with which what their slopes change in AD's gradient cancels. They need not be rational: they are enclosed. */
#ifndef CLARKE_KERNEL_CHANGES_H
#define CLARKE_KERNEL_CHANGES_H

#include "check/kernel/point.h"

/* Touched kinks, and cells: by touched kink, the slopes that each has, and the loss's derivative by the kink's output, or that times one
 * number: with the cell's slopes at what is behind the kink. */
typedef struct {
  const point *p;
  const rational *ad; /* the proxies, as slopes */
  const cell *c;      /* settled without sides, or NULL: nothing comes from what is constant there */
  size_t n, n_cells;
  const size_t *of; /* the kinks */
  rational **slope;
  interval **adjoint;
} changes;

/* Are there weights, all above 0, with which the cells' changes of AD's gradient cancel? What cannot be told is a failure. */
void require_balance(const changes *of);

#endif
