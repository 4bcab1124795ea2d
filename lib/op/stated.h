/* Operators along axes that are stated by others, of activations: what is computed of constants alone asks for them. */
#ifndef CLARKE_OP_STATED_H
#define CLARKE_OP_STATED_H

#include "op/operator.h"

/* CumProd, CumSum: the node's input 0, an activation. */
clarke_status clarke_lower_running(clarke_lowering *low, clarke_error *err);

/* ReduceProd of it. */
clarke_status clarke_lower_reduced_product(clarke_lowering *low, clarke_error *err);

#endif
