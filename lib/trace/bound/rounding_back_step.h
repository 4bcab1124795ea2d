/* Rounding of one step's gradients. */
#ifndef CLARKE_TRACE_ROUNDING_BACK_STEP_H
#define CLARKE_TRACE_ROUNDING_BACK_STEP_H

#include "trace/bound/rounding_backward.h"

/* The rule of the step at work. */
clarke_status clarke_roundback_rule(const clarke_roundback *b, clarke_error *err);

#endif
