/* Trees whose leaves are families of cells: what touched kinks without a side may add along v is bounded
 * (docs/proof-format.md, "Bounds"). */
#ifndef CLARKE_KERNEL_BOUND_H
#define CLARKE_KERNEL_BOUND_H

#include "check/kernel/evidence.h"

extern const bound_rules open_bounds;

#endif
