/* PRODUCT steps: values, and what derivatives are made of. */
#ifndef CLARKE_NETWORK_GRAPH_CONTRACTION_H
#define CLARKE_NETWORK_GRAPH_CONTRACTION_H

#include "exact/matrix.h"
#include "network/graph/graph.h"

/* y, of the step's output, from matrices of the shapes of its operands: their values, or the tangent of one of them. */
clarke_status clarke_contract(clarke_matrix *y, const clarke_step *s, const clarke_matrix *a, const clarke_matrix *c,
                              clarke_error *err);

/* What goes back to operand `to` (0 or 1), of `count` entries: grad, from the gradient g of the output and the value of the
 * other operand. */
clarke_status clarke_contract_back(clarke_matrix *grad, const clarke_step *s, size_t to, size_t count,
                                   const clarke_matrix *g, const clarke_matrix *other, clarke_error *err);

#endif
