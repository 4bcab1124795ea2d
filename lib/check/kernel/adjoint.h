/* Derivatives of the loss by the outputs of touched kinks. */
#ifndef CLARKE_KERNEL_ADJOINT_H
#define CLARKE_KERNEL_ADJOINT_H

#include "check/kernel/point.h"

/* By touched kink, of those among these (NULL: of all): the derivative of the loss by its output under the slopes (NULL: held under
 * those of every cell), in samples that are needed. A normalization behind one of them is refused, where
 * all are asked for or it is over samples. */
interval *adjoints(const point *p, const rational *slope, const bool *needed, const bool *among);

#endif
