/* Nodes, and graphs that nodes hold: the names that they define, their initializers, what they read of the names around them. */
#ifndef CLARKE_KERNEL_BODIES_H
#define CLARKE_KERNEL_BODIES_H

#include "check/base/name_index.h"
#include "check/files/tensors.h"

typedef struct node {
  char *op, *name, **in, **out;
  bool own;               /* of the domain `clarke`, not ONNX's */
  bool training;          /* of ONNX's domain of optimizers */
  bool qonnx;             /* of QONNX's domain */
  bool runtime, learning; /* of ONNX Runtime's; Scaler, of ONNX's domain of machine learning */
  bool promoted;          /* a Constant whose tensor is among the initializers */
  size_t place;           /* in the file */
  size_t like;            /* of a CastLike: the type of its second input; 0: not known */
  size_t n_in, n_out, n_attributes;
  tensor *attributes; /* without values: a string, text */
  size_t n_bodies;    /* attributes that are graphs */
  struct body *bodies;
  size_t n_own; /* so many of its inputs are its own; the others are what its graphs read of the names around them */
  bool within;  /* a copy of a node of such a graph, as it is read once */
} node;

/* A graph that a node holds. No name in it is another's in the model. */
typedef struct body {
  char *name; /* of the attribute */
  bytes message;
  size_t n_nodes, n_inputs, n_outputs;
  node *nodes;
  port *inputs, *outputs; /* type 0: none that is known */
} body;

/* What graphs within these nodes define, all of it new, is added. */
void names_within(name_index *names, const node *nodes, size_t n);
/* Their initializers, read so into an item each, are put behind the tensors. */
void hoist_initializers(tensor ***tensors, size_t *n_tensors, const node *nodes, size_t n,
                        void (*read)(void *item, bytes b));
/* What the node's graphs read of names that are not theirs are further inputs of the node, behind its own. */
void add_outer_inputs(node *n);

#endif
