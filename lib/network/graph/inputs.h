/* Inputs of a model beside the one that the network has, which the batch has by name: of a single run they are constants. */
#ifndef CLARKE_NETWORK_GRAPH_INPUTS_H
#define CLARKE_NETWORK_GRAPH_INPUTS_H

#include "op/model.h"

/* Is x a whole input of the port's shape, and no minibatch? */
bool clarke_inputs_are_one_run(const clarke_model_port *port, const clarke_tensor *x);

/* Before the model's nodes: one of one output, all its names but the operator's and its own NULL yet (NULL when it fails); a Constant
 * of that name, with a copy of the tensor. */
clarke_model_node *clarke_inputs_add_node(clarke_model *m, const char *op, const char *name, size_t n_in, clarke_error *err);
clarke_status clarke_inputs_add_constant(clarke_model *m, const char *name, const clarke_tensor *t, clarke_error *err);

/* May an input beside the first have that name? `x` is the first one's array, and `y` the loss's target; a single run has its loss in its
 * nodes, and y is an input as any other. */
clarke_status clarke_inputs_check_name(const clarke_model *m, const char *name, bool one_run, clarke_error *err);

/* The first input stays the network's; of each other its array in `batch` (n of them, in `file`), which must have its declared
 * shape, becomes a Constant node of its name. Only where x, the network's own array, is one input of a model without a batch
 * axis; where it has one, these are behind the input's entries already (masks.h). Arrays but x and y that no input is named by are refused. The target of the model's own loss is to be taken off
 * before. */
clarke_status clarke_inputs_take(clarke_model *m, const clarke_tensor *x, const clarke_tensor *batch, size_t n,
                                 const char *file, clarke_error *err);

/* Is that the output of a node that has been given a mask? */
bool clarke_inputs_has_mask(const clarke_model *m, const char *name);

#endif
