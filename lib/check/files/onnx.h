/* Models, as ONNX files state them. */
#ifndef CLARKE_KERNEL_ONNX_H
#define CLARKE_KERNEL_ONNX_H

#include "check/base/name_index.h"
#include "check/files/tensors.h"

typedef struct node {
  char *op, *name, **in, **out;
  bool own; /* of the domain `clarke`, not ONNX's */
  size_t n_in, n_out, n_attributes;
  tensor *attributes; /* without values: a string, text */
} node;

typedef struct {
  uint64_t opset;
  size_t n_nodes, n_tensors, n_inputs, n_outputs;
  node *nodes;
  tensor **tensors; /* initializers */
  port *inputs, *outputs;
  name_index initializers, ports; /* the names of tensors; of inputs */
} model;

bool is_initializer(const model *m, const char *name); /* has the model a tensor of that name? */
void onnx_read(model *m, bytes file);
void onnx_read_packed(model *m, bytes file); /* the same, initializers being left packed */

#endif
