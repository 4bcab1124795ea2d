/* Entries along an axis. */
#ifndef CLARKE_OP_TAKE_H
#define CLARKE_OP_TAKE_H

#include "op/operator.h"

/* Gather, at the constant integers of input 1. */
clarke_status clarke_lower_take(clarke_lowering *low, clarke_error *err);

#endif
