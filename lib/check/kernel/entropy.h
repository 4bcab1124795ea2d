/* Cross entropy of outputs that are rational. */
#ifndef CLARKE_KERNEL_ENTROPY_H
#define CLARKE_KERNEL_ENTROPY_H

#include "check/kernel/gradient.h"

/* As loss_origins, and each derivative of the loss that is 0 is known to be; false where the loss is no cross entropy, samples
 * depend on one another, or an output is not rational. Then nothing is found. */
bool entropy_origins(const point *p, const cell *c, origins *of);

#endif
