/* Models, as ONNX files state them. */
#ifndef CLARKE_KERNEL_ONNX_H
#define CLARKE_KERNEL_ONNX_H

#include "check/files/bodies.h"

/* What AD passes of a gradient where an operator jumps: by a proof's lines (onnx/surrogate.h). */
typedef enum { PASSES_NOTHING, PASSES_ALL, PASSES_RANGE, PASSES_ROUNDED } surrogate_rule;
#define N_SURROGATES 7

typedef struct {
  uint64_t opset;
  surrogate_rule surrogates[N_SURROGATES];
  size_t n_choices; /* outputs that the one was chosen of; 0: nothing was chosen */
  size_t n_nodes, n_tensors, n_inputs, n_outputs, n_declared;
  node *nodes;
  tensor **tensors; /* initializers */
  port *inputs, *outputs;
  port *declared;                 /* of values within: value_info */
  name_index initializers, ports; /* the names of tensors; of inputs */
} model;

bool is_initializer(const model *m, const char *name); /* has the model a tensor of that name? */
bool is_read(const model *m, const char *name);        /* is it an input of a node, or an output of the model? */
/* A Constant node of floats gives way to an initializer of its output's name, behind the others; false where it has no floats. */
bool onnx_promote(model *m, node *n);
/* Types of values are to be checked apart (model_types.h). */
void onnx_read(model *m, bytes file);
/* The same of what may be a recorded step. Then values have the framework's types, in any mixture: true, the recorder wrote it. */
bool onnx_read_step(model *m, bytes file);
void onnx_read_packed(model *m, bytes file); /* as onnx_read, initializers being left packed */

#endif
