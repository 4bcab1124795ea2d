/* Where a gradient has no bound any more, nor has what it goes on to. */
#ifndef CLARKE_TRACE_ROUNDING_LOST_H
#define CLARKE_TRACE_ROUNDING_LOST_H

#include "trace/bound/rounding_backward.h"

/* Are all bounds of the gradient at work infinite? */
bool clarke_roundback_is_lost(const clarke_roundback *b);

/* A step's share in what it reads, where no entry of its output's gradient has a bound: nor has what that goes on to. `lost` is asked. */
void clarke_roundback_lose(clarke_roundback *b, size_t step);

#endif
