/* Copies. */
#ifndef CLARKE_OP_IDENTITY_H
#define CLARKE_OP_IDENTITY_H

#include "op/operator.h"

/* The node is a copy of input 0. */
clarke_status clarke_lower_copy(clarke_lowering *low, clarke_error *err);

/* The same, and what is marked there as minus infinity is so here. */
clarke_status clarke_lower_copy_marked(clarke_lowering *low, clarke_error *err);

#endif
