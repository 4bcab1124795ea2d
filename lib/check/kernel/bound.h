/* Trees whose leaves are families of cells: what touched kinks without a side may add along v is bounded
 * (docs/proof-format.md, "Bounds"). */
#ifndef CLARKE_KERNEL_BOUND_H
#define CLARKE_KERNEL_BOUND_H

#include "check/kernel/point.h"

typedef struct bounds bounds;

/* After the lines `v`, with c's sides all 0: settles c, and reads the lines `parallel`. Only sides may change in c from then on. */
bounds *bound_begin(const point *p, cell *c, const rational *ad);
const cell *bound_open(const bounds *b); /* what c was then: what it knows holds whatever sides are chosen */
bool bound_branches(const bounds *b, const cell *c, size_t k); /* may touched kink k be branched on, under c's sides? */
void bound_leaf(const bounds *b, const cell *c);               /* fails unless all cells with c's sides are separated */

#endif
