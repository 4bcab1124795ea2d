/* What follows from a choice of sides. */
#ifndef CLARKE_KERNEL_CELL_H
#define CLARKE_KERNEL_CELL_H

#include "check/kernel/point.h"

cell cell_new(const point *p); /* without sides; inputs alone are constant */
/* Fills flat, slope and degree from side. In a tree an affine argument with derivative zero is constant too. Of samples in which
 * nothing is touched degree stays 2, if no step is smooth. */
void cell_settle(cell *c, const point *p, bool tree);

void cell_settle_step(cell *c, const point *p, size_t s, size_t sample, bool tree); /* side NULL: none is given */

#endif
