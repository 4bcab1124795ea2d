#include "network/graph/promote.h"

#include <stdlib.h>
#include <string.h>

static bool
is_among(const char *name, char *const *names, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (strcmp(names[i], name) == 0)
      return true;
  return false;
}

/* Is it a Constant node of floats, as one attribute gives them? */
static bool
holds_floats(const clarke_model_node *node)
{
  const clarke_attr *a = node->n_attr == 1 ? &node->attr[0] : NULL;

  return strcmp(node->op_type, "Constant") == 0 && node->domain[0] == '\0' && node->n_out == 1 && a != NULL
         && (a->type == CLARKE_ATTR_FLOAT || a->type == CLARKE_ATTR_FLOATS || (a->type == CLARKE_ATTR_TENSOR && a->t.real != NULL));
}

static clarke_status
fill(clarke_tensor *t, const clarke_model_node *node, clarke_error *err)
{
  const clarke_attr *a = &node->attr[0];
  const bool tensor = a->type == CLARKE_ATTR_TENSOR, list = a->type == CLARKE_ATTR_FLOATS;
  const double *from = tensor ? a->t.real : list ? a->floats : &a->f;
  clarke_status status = clarke_tensor_shape(t, node->out[0], tensor ? a->t.dtype : CLARKE_F32, tensor ? a->t.rank : list ? 1 : 0,
                                             tensor ? a->t.dims : &a->n, err);

  if (status == CLARKE_OK && t->count > 0)
    memcpy(t->real, from, t->count * sizeof *from);
  return status;
}

static clarke_status
promote(clarke_model *m, clarke_model_node *node, clarke_error *err)
{
  clarke_tensor *grown = realloc(m->tensors, (m->n_tensors + 1) * sizeof *grown);

  if (grown == NULL)
    return clarke_no_memory(err);
  m->tensors = grown;
  clarke_tensor_init(&m->tensors[m->n_tensors++]);
  m->n_promoted++;
  node->promoted = true;
  return fill(&m->tensors[m->n_tensors - 1], node, err);
}

/* Those among the nodes, and in the graphs that each of them holds. */
static clarke_status
promote_among(clarke_model *m, clarke_model_node *nodes, size_t n_nodes, char *const *names, size_t n, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < n_nodes && status == CLARKE_OK; i++) {
    if (holds_floats(&nodes[i]) && is_among(nodes[i].out[0], names, n))
      status = promote(m, &nodes[i], err);
    for (size_t a = 0; a < nodes[i].n_attr && status == CLARKE_OK; a++)
      if (nodes[i].attr[a].g != NULL)
        status = promote_among(m, nodes[i].attr[a].g->nodes, nodes[i].attr[a].g->n_nodes, names, n, err);
  }
  return status;
}

clarke_status
clarke_promote_constants(clarke_model *m, char *const *names, size_t n, clarke_error *err)
{
  return n > 0 ? promote_among(m, m->nodes, m->n_nodes, names, n, err) : CLARKE_OK;
}
