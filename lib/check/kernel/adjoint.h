/* Derivatives of the loss by the outputs of touched kinks. */
#ifndef CLARKE_KERNEL_ADJOINT_H
#define CLARKE_KERNEL_ADJOINT_H

#include "check/kernel/point.h"

/* By touched kink: the derivative of the loss by its output under the slopes (NULL: held under those of every cell), in
 * samples that are needed. */
interval *adjoints(const point *p, const rational *slope, const bool *needed);

#endif
