/* A network's layers, read off its graph. */
#ifndef CLARKE_AUDIT_LAYERS_H
#define CLARKE_AUDIT_LAYERS_H

#include "audit/audit.h"

/* The layers. */
clarke_status clarke_layers_read(clarke_audit *a, const clarke_question *q, clarke_error *err);
/* Goes the gradient through no transcendental function? (The evidence of blocks.c and block_hulls.c needs that.) */
clarke_status clarke_graph_is_piecewise(bool *piecewise, const clarke_graph *g, clarke_error *err);

#endif
