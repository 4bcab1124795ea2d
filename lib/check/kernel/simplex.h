/* Simplices: AD's output among cells whose gradients need not be rational (docs/proof-format.md, "Simplices"). */
#ifndef CLARKE_KERNEL_SIMPLEX_H
#define CLARKE_KERNEL_SIMPLEX_H

#include "check/kernel/evidence.h"

void check_simplices(claim *q, bool bouligand); /* bouligand: every block must have one cell */

#endif
