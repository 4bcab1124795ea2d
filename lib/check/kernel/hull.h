/* A combination of cells whose gradients have AD's output as their mean (docs/proof-format.md). */
#ifndef CLARKE_KERNEL_HULL_H
#define CLARKE_KERNEL_HULL_H

#include "check/kernel/evidence.h"

void check_hull(claim *q, bool bouligand); /* bouligand: it has one cell */

#endif
