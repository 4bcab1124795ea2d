/* Mod of floats, where an input is an activation: what is computed of integers asks for it. */
#ifndef CLARKE_OP_ALONG_H
#define CLARKE_OP_ALONG_H

#include "op/operator.h"

/* The node's output, with the jumps of Floor, or of a Cast to integers. */
clarke_status clarke_lower_modulo(clarke_lowering *low, clarke_error *err);

#endif
