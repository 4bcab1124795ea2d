#include "op/model.h"

#include <stdlib.h>
#include <string.h>

void
clarke_model_init(clarke_model *m)
{
  memset(m, 0, sizeof *m);
}

static void
strings_clear(char **s, size_t n)
{
  for (size_t i = 0; s != NULL && i < n; i++)
    free(s[i]);
  free(s);
}

static void
node_clear(clarke_model_node *node)
{
  free(node->op_type);
  free(node->domain);
  free(node->name);
  strings_clear(node->in, node->n_in);
  strings_clear(node->out, node->n_out);
  for (size_t i = 0; node->attr != NULL && i < node->n_attr; i++) {
    clarke_attr *a = &node->attr[i];

    free(a->name);
    free(a->s);
    free(a->ints);
    free(a->floats);
    clarke_tensor_clear(&a->t);
    clarke_body_free(a->g);
  }
  free(node->attr);
}

static void
ports_clear(clarke_model_port *port, size_t n)
{
  for (size_t i = 0; port != NULL && i < n; i++)
    free(port[i].name);
  free(port);
}

void
clarke_body_free(clarke_body *body)
{
  if (body == NULL)
    return;
  for (size_t i = 0; body->nodes != NULL && i < body->n_nodes; i++)
    node_clear(&body->nodes[i]);
  free(body->nodes);
  for (size_t i = 0; body->tensors != NULL && i < body->n_tensors; i++)
    clarke_tensor_clear(&body->tensors[i]);
  free(body->tensors);
  ports_clear(body->inputs, body->n_inputs);
  ports_clear(body->outputs, body->n_outputs);
  free(body);
}

void
clarke_model_clear(clarke_model *m)
{
  for (size_t i = 0; m->nodes != NULL && i < m->n_nodes; i++)
    node_clear(&m->nodes[i]);
  free(m->nodes);
  for (size_t i = 0; m->tensors != NULL && i < m->n_tensors; i++)
    clarke_tensor_clear(&m->tensors[i]);
  free(m->tensors);
  ports_clear(m->inputs, m->n_inputs);
  ports_clear(m->outputs, m->n_outputs);
  ports_clear(m->declared, m->n_declared);
  strings_clear(m->left_out, m->n_left_out);
  free(m->file);
  clarke_model_init(m);
}

void
clarke_model_drop_nodes(clarke_model *m, size_t n)
{
  for (; n > 0; n--)
    node_clear(&m->nodes[--m->n_nodes]);
}

void
clarke_model_keep_nodes(clarke_model *m, const bool *keep)
{
  size_t kept = 0;

  for (size_t i = 0; i < m->n_nodes; i++) {
    m->nodes[i].gone += i - kept;
    if (keep[i])
      m->nodes[kept++] = m->nodes[i];
    else
      node_clear(&m->nodes[i]);
  }
  m->n_nodes = kept;
}

void
clarke_model_drop_input(clarke_model *m, size_t input)
{
  free(m->inputs[input].name);
  m->n_inputs--;
  memmove(m->inputs + input, m->inputs + input + 1, (m->n_inputs - input) * sizeof *m->inputs);
}

const clarke_attr *
clarke_model_attr(const clarke_model_node *node, const char *name)
{
  for (size_t i = 0; i < node->n_attr; i++)
    if (strcmp(node->attr[i].name, name) == 0)
      return &node->attr[i];
  return NULL;
}

bool
clarke_model_reads(const clarke_model *m, const char *name)
{
  for (size_t i = 0; i < m->n_outputs; i++)
    if (strcmp(m->outputs[i].name, name) == 0)
      return true;
  for (size_t i = 0; i < m->n_nodes; i++)
    for (size_t k = 0; k < m->nodes[i].n_in; k++)
      if (strcmp(m->nodes[i].in[k], name) == 0)
        return true;
  return false;
}
