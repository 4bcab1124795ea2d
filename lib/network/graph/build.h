/* A graph being built. */
#ifndef CLARKE_NETWORK_GRAPH_BUILD_H
#define CLARKE_NETWORK_GRAPH_BUILD_H

#include "network/graph/graph.h"
#include "op/operator.h"

typedef struct {
  clarke_graph *g;
  const clarke_model *m;
  clarke_tensor *taken; /* m's initializers, whose numbers become the graph's; NULL: they are copied */
  void *names; /* a tsearch tree of bindings */
  const struct clarke_instance *within; /* the graph within a node that is being read; NULL: the model's */
  size_t n_within;                      /* nodes of such graphs, and rounds of loops */
} clarke_builder;

/* Do dims (n of them) agree with the port's from axis `skip` on? Unknown and 0 fit anything. */
bool clarke_port_fits(const clarke_model_port *port, size_t skip, const size_t *dims, size_t n);
/* Does the port take the batch array: with the samples on its first axis (batched), its axes being one in x perhaps (flat)? */
bool clarke_port_takes(const clarke_model_port *port, const clarke_tensor *x, bool *batched, bool *flat);
/* The port's shape as text, for messages. */
void clarke_port_describe(const clarke_model_port *port, char *text, size_t size);

/* A new value, known by the name; NULL, and an error, when that is taken or there is no memory. */
clarke_value *clarke_builder_value(clarke_builder *b, const char *name, clarke_error *err);
/* The value of that name; CLARKE_NONE. */
size_t clarke_builder_find(const clarke_builder *b, const char *name);
/* The value has the name from here on. */
clarke_status clarke_builder_bind(clarke_builder *b, const char *name, size_t value, clarke_error *err);
/* The steps of a node, which has that place in the file; its outputs' names. */
clarke_status clarke_builder_node(clarke_builder *b, const clarke_model_node *node, size_t own, clarke_error *err);
clarke_status clarke_builder_outputs(clarke_builder *b, const clarke_lowering *low, clarke_error *err);
/* The graph's input: the model's one input port, of the batch x. */
clarke_status clarke_builder_input(clarke_builder *b, const clarke_tensor *x, clarke_error *err);

/* Fails with the node's name, what to do instead of its operator, and a list of those that are supported. */
clarke_status clarke_builder_unsupported(const clarke_builder *b, const clarke_model_node *node, size_t place, clarke_error *err);
/* Holds a graph whose nodes are lowered and whose output is found to its file: fails where a value has another shape than
 * the file declares. */
clarke_status clarke_builder_declared(const clarke_builder *b, clarke_error *err);
/* Puts the parameters of a graph whose nodes are lowered in the order of the file's initializers, whatever the order of use,
 * and drops those that are only rearranged. None may be a bound. */
clarke_status clarke_builder_parameters(clarke_builder *b, clarke_error *err);

/* Types the model for samples of the batch array's shape x (with its leading batch axis). The
 * model must have one input and one output. Sets no parameter's wrt. */
clarke_status clarke_graph_build(clarke_graph *g, const clarke_model *m, const clarke_tensor *x,
                                 clarke_error *err);
/* The same of a model that nobody asks afterwards but to clear it: its initializers' numbers become the graph's. */
clarke_status clarke_graph_build_from(clarke_graph *g, clarke_model *m, const clarke_tensor *x, clarke_error *err);

#endif
