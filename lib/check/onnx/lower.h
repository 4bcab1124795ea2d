/* A node, by the form that its operator has in the tables that are handed in. */
#ifndef CLARKE_ONNX_LOWER_H
#define CLARKE_ONNX_LOWER_H

#include "check/onnx/builder.h"
#include "check/onnx/operators.h"

void lower_node(builder *b);   /* makes b->node, its inputs being found by their names */
void lower_within(builder *b); /* the same, b->in being its inputs */
/* The operators that have kinks, sorted by name. */
kinked_operator *operators_with_kinks(const operator_set *of, size_t *n);

#endif
