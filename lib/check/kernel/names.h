/* Parameters and touched kinks, by the names that proofs and messages have for them. */
#ifndef CLARKE_KERNEL_NAMES_H
#define CLARKE_KERNEL_NAMES_H

#include "check/kernel/point.h"

typedef struct {
  char text[512];
} kink_name;
kink_name kink(const point *p, size_t k); /* touched kink k, for messages */
tensor *next_parameter(network *net);     /* by the next word */
void read_direction(network *net);        /* `direction` and its moves, into the network's */

#endif
