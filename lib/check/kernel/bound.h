/* Trees whose leaves are families of cells: what touched kinks without a side may add along v is bounded
 * (docs/proof-format.md, "Bounds"). */
#ifndef CLARKE_KERNEL_BOUND_H
#define CLARKE_KERNEL_BOUND_H

#include "check/kernel/separator.h"

void check_bound(claim *q, bool bouligand); /* a tree of such */

#endif
