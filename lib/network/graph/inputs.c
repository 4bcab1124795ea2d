#include "network/graph/inputs.h"

#include "network/graph/build.h"

#include <stdlib.h>
#include <string.h>

#define MOST_INPUTS 1024

bool
clarke_inputs_are_one_run(const clarke_model_port *port, const clarke_tensor *x)
{
  return port->shaped && x->rank == port->rank + 1 && x->dims[0] == 1 && clarke_port_fits(port, 0, x->dims + 1, port->rank);
}

static const clarke_tensor *
find_array(const clarke_tensor *batch, size_t n, const char *name)
{
  for (size_t i = 0; i < n; i++)
    if (strcmp(batch[i].name, name) == 0)
      return &batch[i];
  return NULL;
}

static bool
is_input(const clarke_model *m, const char *name)
{
  for (size_t i = 1; i < m->n_inputs; i++)
    if (strcmp(m->inputs[i].name, name) == 0)
      return true;
  return false;
}

static clarke_status
copy_tensor(clarke_tensor *to, const clarke_tensor *from, clarke_error *err)
{
  clarke_status status = clarke_tensor_shape(to, from->name, from->dtype, from->rank, from->dims, err);

  if (status == CLARKE_OK && from->real != NULL)
    memcpy(to->real, from->real, from->count * sizeof *to->real);
  else if (status == CLARKE_OK)
    memcpy(to->integer, from->integer, from->count * sizeof *to->integer);
  return status;
}

clarke_model_node *
clarke_inputs_add_node(clarke_model *m, const char *op, const char *name, size_t n_in, clarke_error *err)
{
  clarke_model_node *grown = realloc(m->nodes, (m->n_nodes + 1) * sizeof *grown);

  if (grown == NULL) {
    clarke_no_memory(err);
    return NULL;
  }
  m->nodes = grown;
  memmove(grown + 1, grown, m->n_nodes * sizeof *grown);
  memset(grown, 0, sizeof *grown);
  m->n_nodes++;
  m->added++;
  grown->op_type = strdup(op);
  grown->domain = strdup("");
  grown->name = strdup(name);
  grown->in = calloc(n_in + 1, sizeof *grown->in);
  grown->out = calloc(1, sizeof *grown->out);
  if (grown->op_type == NULL || grown->domain == NULL || grown->name == NULL || grown->in == NULL || grown->out == NULL) {
    clarke_no_memory(err);
    return NULL;
  }
  grown->n_in = n_in;
  grown->n_out = 1;
  return grown;
}

clarke_status
clarke_inputs_add_constant(clarke_model *m, const char *name, const clarke_tensor *t, clarke_error *err)
{
  clarke_model_node *node = clarke_inputs_add_node(m, "Constant", name, 0, err);

  if (node == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  node->attr = calloc(1, sizeof *node->attr);
  node->out[0] = strdup(name);
  if (node->attr == NULL || node->out[0] == NULL)
    return clarke_no_memory(err);
  node->n_attr = 1;
  node->attr[0].name = strdup("value");
  node->attr[0].type = CLARKE_ATTR_TENSOR;
  return node->attr[0].name != NULL ? copy_tensor(&node->attr[0].t, t, err) : clarke_no_memory(err);
}

clarke_status
clarke_inputs_check_name(const clarke_model *m, const char *name, bool one_run, clarke_error *err)
{
  const bool first = strcmp(name, "x") == 0;

  if (!first && (one_run || strcmp(name, "y") != 0))
    return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT, "%s: input '%s' is beside '%s', but a batch's array '%s' is %s: give the input another name", m->file, name,
                     m->inputs[0].name, name, first ? "of the first input" : "the loss's target");
}

bool
clarke_inputs_has_mask(const clarke_model *m, const char *name)
{
  for (size_t i = 0; i < m->n_nodes; i++)
    if (m->nodes[i].masked && strcmp(m->nodes[i].out[0], name) == 0)
      return true;
  return false;
}

clarke_status
clarke_inputs_take(clarke_model *m, const clarke_tensor *x, const clarke_tensor *batch, size_t n, const char *file,
                   clarke_error *err)
{
  if (m->n_inputs > MOST_INPUTS)
    return clarke_fail(err, CLARKE_EINPUT, "%s: %zu inputs; at most %d are taken", m->file, m->n_inputs, MOST_INPUTS);
  for (size_t i = 0; i < n; i++)
    if (strcmp(batch[i].name, "x") != 0 && strcmp(batch[i].name, "y") != 0 && !is_input(m, batch[i].name)
        && !clarke_inputs_has_mask(m, batch[i].name))
      return clarke_fail(err, CLARKE_EINPUT, "%s: array '%s'; a batch has x, y perhaps, and arrays by the names of further inputs, or of "
                         "outputs of Dropout nodes",
                         file, batch[i].name);
  while (m->n_inputs > 1 && m->inputs[m->n_inputs - 1].behind)
    clarke_model_drop_input(m, m->n_inputs - 1);
  if (m->n_inputs < 2)
    return CLARKE_OK;
  if (!clarke_inputs_are_one_run(&m->inputs[0], x))
    return clarke_fail(err, CLARKE_EINPUT, "%s: %zu inputs; the batch has an array for each by its name, the samples on the first axis; or it is "
                       "one input of a model without a batch axis: x with one axis more than input '%s', 1, the others as their inputs declare",
                       m->file, m->n_inputs, m->inputs[0].name);
  while (m->n_inputs > 1) {
    const clarke_model_port *port = &m->inputs[m->n_inputs - 1];
    const clarke_tensor *t = find_array(batch, n, port->name);
    clarke_status status;

    if (t == NULL || !port->shaped || !clarke_port_fits(port, 0, t->dims, t->rank))
      return clarke_fail(err, CLARKE_EINPUT, "%s: input '%s': %s has no array of that name and declared shape", m->file,
                         port->name, file);
    status = clarke_inputs_check_name(m, port->name, true, err);
    if (status == CLARKE_OK)
      status = clarke_inputs_add_constant(m, port->name, t, err);
    if (status != CLARKE_OK)
      return status;
    clarke_model_drop_input(m, m->n_inputs - 1);
  }
  return CLARKE_OK;
}
