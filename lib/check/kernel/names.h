/* Parameters and touched kinks, by the names that proofs and messages have for them. */
#ifndef CLARKE_KERNEL_NAMES_H
#define CLARKE_KERNEL_NAMES_H

#include "check/kernel/point.h"

void names_begin(const point *p); /* of that point and its network, from now on */
const char *kink(size_t k);       /* touched kink k, for messages; valid until the next call */
tensor *next_parameter(void);     /* by the next word */
void read_direction(void);        /* `direction` and its moves, into the network's */

#endif
