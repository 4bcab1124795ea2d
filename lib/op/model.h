/* A network as its file states it, before it is given types: nodes by operator name, named
 * tensors, declared inputs and outputs. Readers fill it; clarke_graph_build reads it. */
#ifndef CLARKE_OP_MODEL_H
#define CLARKE_OP_MODEL_H

#include "exact/tensor.h"

/* ONNX's domain of optimizers. */
#define CLARKE_DOMAIN_OF_TRAINING "ai.onnx.preview.training"

typedef enum {
  CLARKE_ATTR_INT, CLARKE_ATTR_FLOAT, CLARKE_ATTR_STRING, CLARKE_ATTR_TENSOR,
  CLARKE_ATTR_INTS, CLARKE_ATTR_FLOATS, CLARKE_ATTR_STRINGS,
  CLARKE_ATTR_GRAPH, /* a branch, or a loop's body */
  CLARKE_ATTR_OTHER, /* sparse tensors...: no supported operator has one */
} clarke_attr_type;

typedef struct clarke_body clarke_body;

/* What AD does at an operator that jumps (op/surrogate.h). */
typedef enum { CLARKE_SURROGATE_NONE, CLARKE_SURROGATE_ALL, CLARKE_SURROGATE_RANGE, CLARKE_SURROGATE_ROUNDED } clarke_surrogate;

#define CLARKE_N_SURROGATES 7

typedef struct {
  clarke_surrogate rule[CLARKE_N_SURROGATES]; /* of BipolarQuant, Ceil, Floor, Quant, QuantizeLinear, Round, Sign */
} clarke_surrogates;

typedef struct {
  char *name;
  clarke_attr_type type;
  int64_t i;
  double f;  /* the exact value of the stored float32 */
  char *s;   /* NUL-terminated; a string holding NUL is refused by readers. Of a list: its words, a space between two */
  size_t n;  /* of ints or floats */
  int64_t *ints;
  double *floats;
  clarke_tensor t;
  clarke_body *g;
} clarke_attr;

typedef struct {
  char *op_type, *domain /* "" for the default */, *name /* "" when unnamed */;
  size_t n_in, n_out, n_attr;
  char **in, **out; /* "" for an omitted optional one */
  clarke_attr *attr;
  bool masked; /* of a Dropout: a fourth input was added, its mask; no reader sets it */
  bool promoted; /* of a Constant: its value is among the initializers (network/graph/promote.h); no reader sets it. Or of a
                  * DequantizeLinear (op/dequantize.h) */
  int64_t like;  /* of a CastLike: its second input's type, as files count them; 0: not known. op/types.h sets it */
  size_t own_in; /* of a node with graphs: so many inputs are its own, the others are what its graphs read of the names around them */
  bool within;   /* a copy of a node of such a graph (network/graph/bodies.h); no reader sets it */
  size_t gone;   /* so many nodes of the file's before it were taken away (network/graph/choose.h); no reader sets it */
} clarke_model_node;

typedef struct {
  char *name;
  clarke_dtype dtype;
  bool typed;                    /* does the file give a type? Those of inputs and outputs have one */
  bool shaped;                   /* does the file give a shape? */
  size_t rank;
  int64_t dims[CLARKE_MAX_RANK]; /* -1: symbolic or unknown */
  bool behind;                   /* an input whose array follows the first one's entries (network/graph/masks.h) */
} clarke_model_port;

/* A graph that a node holds. Its initializers are the model's. No name in it is another's in the file. */
struct clarke_body {
  size_t n_nodes, n_tensors, n_inputs, n_outputs;
  clarke_model_node *nodes;
  clarke_tensor *tensors; /* while the file is read */
  clarke_model_port *inputs, *outputs;
};

typedef struct {
  char *file;    /* base name, for messages */
  int64_t opset; /* of the default domain */
  int64_t training; /* the operator set of ONNX's domain of optimizers; 0: it is not imported */
  bool external; /* are there entries that come from other files? */
  bool recorded; /* a step as clarke.record writes it: values have the types that the framework gave them, in any mixture */
  size_t n_nodes, n_tensors, n_inputs, n_outputs, n_declared;
  size_t n_promoted;          /* of the tensors, the last ones, which Constant nodes have */
  size_t added;               /* of the nodes, those that are not in the file: the first (network/graph/inputs.h) */
  clarke_model_node *nodes;   /* in the file's (topological) order */
  clarke_tensor *tensors;     /* initializers; names unique */
  clarke_model_port *inputs;  /* those that are no initializer */
  clarke_model_port *outputs;
  clarke_model_port *declared; /* what the file says of further values: value_info, and inputs that are initializers */
  clarke_surrogates surrogates; /* of a profile; no reader sets them */
  size_t n_left_out;
  char **left_out; /* initializers that the output which was chosen does not need (network/graph/choose.h) */
} clarke_model;

void clarke_model_init(clarke_model *m);
void clarke_model_clear(clarke_model *m);

/* Takes away the last n nodes; those that are not to be kept; an input. */
void clarke_model_drop_nodes(clarke_model *m, size_t n);
void clarke_model_keep_nodes(clarke_model *m, const bool *keep);
void clarke_model_drop_input(clarke_model *m, size_t input);

/* NULL when there is none. */
const clarke_attr *clarke_model_attr(const clarke_model_node *node, const char *name);

/* Is the name that of an input of a node, or of the model's output? */
bool clarke_model_reads(const clarke_model *m, const char *name);

void clarke_body_free(clarke_body *body);

#endif
