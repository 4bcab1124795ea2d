/* The box of a proof about regions: which forms have one sign inside (docs/proof-format.md, "Regions"). */
#ifndef CLARKE_KERNEL_REGION_BOX_H
#define CLARKE_KERNEL_REGION_BOX_H

#include "check/base/value.h"

typedef struct {
  size_t n;
  integer *bounds; /* of each variable the lower and the upper one, times the number that comes last */
} region_box;

/* In n variables. bound: of each variable the rows a z + b > 0 of its lower and of its upper bound, n + 1 integers. */
void region_box_set(region_box *box, size_t n, const integer *const *bound);

#define REGION_BOX_OPEN 2

/* The sign inside the box, -1 or 1, of a form that varies (n + 1 integers); or REGION_BOX_OPEN. */
int region_box_sign(region_box *box, const integer *form);

#endif
