/* GraphProto as an attribute's value: the branches of an If, the body of a Loop or a Scan. What such a graph reads of the names
 * around it, and the initializers that it holds, are made plain after all is read. */
#include "format/onnx_inside.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

/* Graphs in one another. */
#define MAX_DEPTH 8

static clarke_status
no_memory(clarke_error *err)
{
  return clarke_fail(err, CLARKE_ENOMEM, "no memory for a graph");
}

clarke_status
clarke_onnx_body(clarke_body **body, size_t depth, clarke_wire_span span, clarke_error *err)
{
  if (depth > MAX_DEPTH)
    return clarke_fail(err, CLARKE_EINPUT, "more than %d graphs in one another", MAX_DEPTH);
  *body = calloc(1, sizeof **body);
  return *body != NULL ? clarke_onnx_graph(*body, NULL, depth, span, NULL, err) : no_memory(err);
}

void
clarke_onnx_within(const clarke_model_node *nodes, size_t n, void (*each)(void *user, const char *name), void *user)
{
  for (size_t i = 0; i < n; i++)
    for (size_t a = 0; a < nodes[i].n_attr; a++) {
      const clarke_body *g = nodes[i].attr[a].g;

      if (g == NULL)
        continue;
      for (size_t k = 0; k < g->n_inputs; k++)
        each(user, g->inputs[k].name);
      for (size_t k = 0; k < g->n_tensors; k++)
        each(user, g->tensors[k].name);
      for (size_t k = 0; k < g->n_nodes; k++)
        for (size_t o = 0; o < g->nodes[k].n_out; o++)
          if (*g->nodes[k].out[o] != '\0')
            each(user, g->nodes[k].out[o]);
      clarke_onnx_within(g->nodes, g->n_nodes, each, user);
    }
}

/* --- What a graph reads of the names around it --- */

typedef struct {
  const char **name;
  size_t n, capacity;
  bool failed;
} names;

static void
add(names *all, const char *name)
{
  all->failed = all->failed || !clarke_room(&all->name, &all->capacity, all->n + 1, sizeof *all->name);
  if (!all->failed && *name != '\0')
    all->name[all->n++] = name;
}

static int
by_name(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void
sort(names *all)
{
  if (all->n > 1)
    qsort(all->name, all->n, sizeof *all->name, by_name);
}

/* What the graph defines itself, but for initializers. */
static void
list_own(names *own, const clarke_body *g)
{
  for (size_t i = 0; i < g->n_inputs; i++)
    add(own, g->inputs[i].name);
  for (size_t i = 0; i < g->n_nodes; i++)
    for (size_t o = 0; o < g->nodes[i].n_out; o++)
      add(own, g->nodes[i].out[o]);
  sort(own);
}

static void
read_name(names *outer, const names *own, const char *name)
{
  if (own->n == 0 || bsearch(&name, own->name, own->n, sizeof *own->name, by_name) == NULL)
    add(outer, name);
}

/* The further inputs of its nodes that hold graphs are known already. */
static bool
list_outer(names *outer, const clarke_body *g)
{
  names own = { NULL, 0, 0, false };

  list_own(&own, g);
  for (size_t i = 0; i < g->n_nodes; i++)
    for (size_t k = 0; k < g->nodes[i].n_in; k++)
      read_name(outer, &own, g->nodes[i].in[k]);
  for (size_t i = 0; i < g->n_outputs; i++)
    read_name(outer, &own, g->outputs[i].name);
  free(own.name);
  return !own.failed;
}

static clarke_status
add_inputs(clarke_model_node *node, const names *outer, clarke_error *err)
{
  char **grown = realloc(node->in, (node->n_in + outer->n + 1) * sizeof *grown);

  if (grown == NULL)
    return no_memory(err);
  node->in = grown;
  for (size_t i = 0; i < outer->n; i++) {
    if (i > 0 && strcmp(outer->name[i], outer->name[i - 1]) == 0)
      continue;
    grown[node->n_in] = strdup(outer->name[i]);
    if (grown[node->n_in] == NULL)
      return no_memory(err);
    node->n_in++;
  }
  return CLARKE_OK;
}

static clarke_status
settle_node(clarke_model_node *node, clarke_error *err)
{
  names outer = { NULL, 0, 0, false };
  bool room = true, some = false;
  clarke_status status = CLARKE_OK;

  node->own_in = node->n_in;
  for (size_t a = 0; a < node->n_attr && room; a++) {
    const clarke_body *g = node->attr[a].g;

    for (size_t i = 0; g != NULL && i < g->n_nodes && status == CLARKE_OK; i++)
      status = settle_node(&g->nodes[i], err);
    room = g == NULL || list_outer(&outer, g);
    some = some || g != NULL;
  }
  sort(&outer);
  if (status == CLARKE_OK && (!room || outer.failed))
    status = no_memory(err);
  if (status == CLARKE_OK && some)
    status = add_inputs(node, &outer, err);
  free(outer.name);
  return status;
}

/* --- Initializers --- */

static clarke_status
hoist(clarke_model *m, const clarke_model_node *nodes, size_t n, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < n; i++)
    for (size_t a = 0; a < nodes[i].n_attr && status == CLARKE_OK; a++) {
      clarke_body *g = nodes[i].attr[a].g;
      clarke_tensor *grown;

      if (g == NULL)
        continue;
      grown = realloc(m->tensors, (m->n_tensors + g->n_tensors + 1) * sizeof *grown);
      if (grown == NULL)
        return no_memory(err);
      m->tensors = grown;
      memcpy(grown + m->n_tensors, g->tensors, g->n_tensors * sizeof *grown);
      m->n_tensors += g->n_tensors;
      g->n_tensors = 0;
      status = hoist(m, g->nodes, g->n_nodes, err);
    }
  return status;
}

clarke_status
clarke_onnx_settle_bodies(clarke_model *m, clarke_error *err)
{
  clarke_status status = hoist(m, m->nodes, m->n_nodes, err);

  for (size_t i = 0; i < m->n_nodes && status == CLARKE_OK; i++)
    status = settle_node(&m->nodes[i], err);
  return status;
}
