/* A node as steps: what is asked of its inputs before its operator's function, and kept of what that makes. And nodes
 * within a node: an operator that ONNX states as a graph of others is that graph. */
#ifndef CLARKE_OP_NODE_H
#define CLARKE_OP_NODE_H

#include "op/operator.h"

/* The last form of no later operator set; NULL when the operator is newer than the model. */
const clarke_form *clarke_node_form(const clarke_op *op, int64_t opset);

/* The steps of a node whose inputs are found and whose attributes are its operator's. */
clarke_status clarke_node_lower(clarke_lowering *low, clarke_error *err);

/* --- Within the lowering of a node. Each makes a value without a name, or CLARKE_NONE when it fails, or when a value that it is
 * given is CLARKE_NONE: so the last of several tells whether all succeeded. --- */

/* The operator set that inner nodes are of, whatever the model's is. */
#define CLARKE_INNER_OPSET 24

/* Attributes that point to what they are given. */
clarke_attr clarke_inner_int(const char *name, int64_t i);
clarke_attr clarke_inner_ints(const char *name, const int64_t *ints, size_t n);

/* A node within the node, of an operator of ONNX's; an input may be left out (CLARKE_NONE) as in a file. Its output, or
 * CLARKE_NONE when it fails. */
size_t clarke_inner_node(clarke_lowering *low, const char *op, const size_t *in, size_t n_in, const clarke_attr *attr,
                         size_t n_attr, clarke_error *err);

/* Constants: a list of integers; a number, which no parameter is. */
size_t clarke_inner_integers(clarke_lowering *low, const int64_t *list, size_t n, clarke_error *err);
size_t clarke_inner_number(clarke_lowering *low, double number, clarke_error *err);

/* Reshape; Transpose; Slice from start to end along an axis; Concat; an operator of two, or of one. */
size_t clarke_inner_reshaped(clarke_lowering *low, size_t value, const int64_t *dims, size_t n, clarke_error *err);
size_t clarke_inner_transposed(clarke_lowering *low, size_t value, const int64_t *order, size_t n, clarke_error *err);
size_t clarke_inner_sliced(clarke_lowering *low, size_t value, size_t axis, size_t start, size_t end, clarke_error *err);
size_t clarke_inner_joined(clarke_lowering *low, const size_t *values, size_t n, size_t axis, clarke_error *err);
size_t clarke_inner_of(clarke_lowering *low, const char *op, size_t a, size_t b, clarke_error *err);
size_t clarke_inner_function(clarke_lowering *low, const char *op, size_t a, clarke_error *err);

/* Why the last one failed; of an error that nobody asked for, that memory is short. */
clarke_status clarke_inner_failed(const clarke_error *err);

/* The value, or a copy of it, is output k of the node. */
clarke_status clarke_inner_done(clarke_lowering *low, size_t k, size_t value, clarke_error *err);

#endif
