/* Simplices: AD's output among cells whose gradients need not be rational (docs/proof-format.md, "Simplices"). */
#ifndef CLARKE_KERNEL_SIMPLEX_H
#define CLARKE_KERNEL_SIMPLEX_H

#include "check/kernel/point.h"

/* After `evidence simplices`: the rest of it. c is a cell of the point. bouligand: every block must have one cell. */
void check_simplices(const point *p, cell *c, const rational *ad, bool bouligand);

#endif
