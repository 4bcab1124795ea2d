/* Which touched kinks the gradient depends on. */
#ifndef CLARKE_KERNEL_EFFECT_H
#define CLARKE_KERNEL_EFFECT_H

#include "check/kernel/point.h"

/* For each touched kink, may the loss have a derivative by its output, whatever slopes touched kinks have? Where each way from it
 * to the loss is cut by a factor that is 0 at the weights, the derivative is 0, and the gradient the same whatever its slope. */
bool *touched_with_effect(const point *p);

#endif
