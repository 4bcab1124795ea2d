/* Rounding of the loss's gradient. */
#ifndef CLARKE_TRACE_ROUNDING_LOSS_H
#define CLARKE_TRACE_ROUNDING_LOSS_H

#include "trace/bound/rounding_backward.h"

/* The gradient of the network's output, from the loss. */
void clarke_roundback_seed(clarke_roundback *b);

/* At least how far the loss itself, computed in any order, may be from the exact one; infinite where that is not known. */
double clarke_roundoff_loss(const clarke_roundoff *r);

#endif
