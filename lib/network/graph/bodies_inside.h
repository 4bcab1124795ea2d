/* What the files of nodes that hold graphs share: such a node, and a graph of it as it is read. Private to bodies*.c. */
#ifndef CLARKE_NETWORK_GRAPH_BODIES_INSIDE_H
#define CLARKE_NETWORK_GRAPH_BODIES_INSIDE_H

#include "network/graph/build.h"
#include "op/axes.h"
#include "op/lower.h"

typedef struct {
  clarke_builder *b;
  clarke_lowering low; /* of the node that holds the graphs, for messages and nodes within it */
} clarke_holder;

/* A name that a graph defines: its input of that number; or what a node of its makes, CLARKE_NONE. */
typedef struct {
  const char *name;
  size_t input;
} clarke_own_name;

/* A graph as it is read once: its names, what its inputs are, what is put behind other names of its. */
typedef struct clarke_instance {
  const struct clarke_instance *outer;
  const clarke_body *body;
  clarke_own_name *own; /* by name */
  size_t n_own;
  char **given, *suffix;
} clarke_instance;

/* --- bodies_instance.c --- */

/* The node's graph of that name, which must take and give so many values. */
clarke_status clarke_holder_body(const clarke_holder *h, const char *name, size_t n_in, size_t n_out, const clarke_body **body,
                                 clarke_error *err);
/* The value of that name (NULL: out of memory), which must be there. */
clarke_status clarke_holder_value(const clarke_holder *h, const char *name, size_t *value, clarke_error *err);
/* A value's whole axes, all samples of a run on the batch's; how many they are. */
size_t clarke_holder_axes(const clarke_holder *h, size_t value, size_t dims[CLARKE_MAX_WHOLE]);
/* Is it a truth value that is known, and true? */
bool clarke_holder_is_true(const clarke_value *v, bool *known);

/* Begins with a graph whose inputs have no values yet; it is ended after an error, too. */
clarke_status clarke_instance_begin(clarke_instance *i, clarke_holder *h, const clarke_body *body, clarke_error *err);
void clarke_instance_end(clarke_instance *i, clarke_holder *h);
/* What is put behind the names of round k; of a branch, what is put behind those around it. False: out of memory. */
bool clarke_instance_suffix(clarke_instance *i, bool round, size_t k);
/* The value has the name of the graph's input k in this round. */
clarke_status clarke_instance_give(clarke_instance *i, clarke_holder *h, size_t k, size_t value, clarke_error *err);
/* Lowers the graph's nodes, with the names that they have now. */
clarke_status clarke_instance_run(clarke_instance *i, clarke_holder *h, clarke_error *err);
/* What a name of the graph stands for, here or around it (malloc); NULL: out of memory. And the value of its output k. */
char *clarke_instance_name(const clarke_instance *i, const char *name);
clarke_status clarke_instance_output(const clarke_instance *i, const clarke_holder *h, size_t k, size_t *value,
                                     clarke_error *err);

/* --- bodies_loop.c --- */

/* A Loop, a Scan: the values of its outputs. */
clarke_status clarke_holder_loop(clarke_holder *h, size_t *value, clarke_error *err);
clarke_status clarke_holder_scan(clarke_holder *h, size_t *value, clarke_error *err);

#endif
