/* Trees whose leaves are families of cells: what touched kinks without a side may add along v is bounded
 * (docs/proof-format.md, "Bounds"). */
#ifndef CLARKE_KERNEL_BOUND_H
#define CLARKE_KERNEL_BOUND_H

#include "kernel.h"

/* ---- evaluate.c */

void slope_at(const point *p, size_t s, size_t e, const rational *slope, interval *d); /* of a PIECEWISE entry */
interval *loss_slopes(const point *p); /* [sample * n_outputs + output]: the loss's derivative by it */

/* ---- pull.c */

/* By touched kink: the derivative of the loss by its output under the slopes (NULL: held under those of every cell), in
 * samples that are needed. */
interval *pulls(const point *p, const rational *slope, const bool *needed);

/* ---- bound.c */

/* After the lines `v`, with c's sides all 0: settles c, and reads the lines `parallel`. */
void bound_begin(const point *p, cell *c, const rational *ad);
bool bound_branches(const cell *c, size_t k); /* may touched kink k be branched on, under c's sides? */
void bound_leaf(const cell *c);               /* fails unless all cells with c's sides are separated */

#endif
