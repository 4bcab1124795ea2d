/* Copies. */
#ifndef CLARKE_OP_IDENTITY_H
#define CLARKE_OP_IDENTITY_H

#include "op/operator.h"

/* The node is a copy of input 0. */
clarke_status clarke_lower_copy(clarke_lowering *low, clarke_error *err);

#endif
