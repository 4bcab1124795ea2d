/* One graph after another, in the order of the file; initializers of GraphProto: 5. */
#include "check/files/bodies.h"
#include "check/base/allocate.h"
#include "check/files/protobuf.h"

#include <string.h>

static void
define_within(name_index *names, const char *name)
{
  expect(*name == '\0' || name_add(names, name), "the model defines '%s' twice, in a node's graph the second time",
         name);
}

void
names_within(name_index *names, const node *nodes, size_t n)
{
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < nodes[i].n_bodies; k++) {
      const body *g = &nodes[i].bodies[k];
      for (size_t j = 0; j < g->n_inputs; j++)
        define_within(names, g->inputs[j].name);
      for (size_t j = 0; j < g->n_nodes; j++)
        for (size_t o = 0; o < g->nodes[j].n_out; o++)
          define_within(names, g->nodes[j].out[o]);
      bytes message = g->message;
      for (field f; next_of(&message, 5, &f);)
        define_within(names, text(f.body, 8));
      names_within(names, g->nodes, g->n_nodes);
    }
}

void
hoist_initializers(tensor ***tensors, size_t *n_tensors, const node *nodes, size_t n, void (*read)(void *item, bytes b))
{
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < nodes[i].n_bodies; k++) {
      const body *g = &nodes[i].bodies[k];
      bytes message = g->message;
      for (field f; next_of(&message, 5, &f);) {
        *tensors = grow(*tensors, *n_tensors, sizeof **tensors);
        read(&(*tensors)[(*n_tensors)++], f.body);
      }
      hoist_initializers(tensors, n_tensors, g->nodes, g->n_nodes, read);
    }
}

/* The name is one more input, unless it is the graph's own, or there. */
static void
add_outer(node *n, const name_index *own, name_index *outer, char *name)
{
  if (*name == '\0' || name_find(own, name) != NONE || !name_add(outer, name))
    return;
  n->in = grow(n->in, n->n_in, sizeof *n->in);
  n->in[n->n_in++] = name;
}

void
add_outer_inputs(node *n)
{
  name_index outer = {0};
  n->n_own = n->n_in;
  for (size_t k = 0; k < n->n_bodies; k++) {
    const body *g = &n->bodies[k];
    name_index own = {0};
    for (size_t i = 0; i < g->n_inputs; i++)
      name_add(&own, g->inputs[i].name);
    for (size_t i = 0; i < g->n_nodes; i++) {
      add_outer_inputs(&g->nodes[i]);
      for (size_t o = 0; o < g->nodes[i].n_out; o++)
        name_add(&own, g->nodes[i].out[o]);
    }
    for (size_t i = 0; i < g->n_nodes; i++)
      for (size_t j = 0; j < g->nodes[i].n_in; j++)
        add_outer(n, &own, &outer, g->nodes[i].in[j]);
    for (size_t i = 0; i < g->n_outputs; i++)
      add_outer(n, &own, &outer, g->outputs[i].name);
    name_index_free(&own);
  }
  name_index_free(&outer);
}
