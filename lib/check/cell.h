/* What follows from a choice of sides. */
#ifndef CLARKE_KERNEL_CELL_H
#define CLARKE_KERNEL_CELL_H

#include "point.h"

cell cell_new(const point *p);
/* Fills flat, slope and degree from side, degree for samples in which something is touched: of others it is 2. In a tree an
 * affine argument with derivative zero is constant too. */
void cell_settle(cell *c, const point *p, bool tree);

void cell_settle_step(cell *c, const point *p, size_t s, size_t sample, bool tree); /* side NULL: none is given */

#endif
