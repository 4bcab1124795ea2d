#include "network/inputs.h"

#include "network/build.h"

#include <stdlib.h>
#include <string.h>

#define MOST_INPUTS 1024

/* Is x a whole input of the declared shape, and no minibatch? */
static bool
is_one_run(const clarke_model_port *port, const clarke_tensor *x)
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

/* node: all zeros to begin with; cleared with the model. */
static clarke_status
fill_constant(clarke_model_node *node, const clarke_model_port *port, const clarke_tensor *t, clarke_error *err)
{
  node->op_type = strdup("Constant");
  node->domain = strdup("");
  node->name = strdup(port->name);
  node->out = calloc(1, sizeof *node->out);
  node->attr = calloc(1, sizeof *node->attr);
  if (node->op_type == NULL || node->domain == NULL || node->name == NULL || node->out == NULL || node->attr == NULL)
    return clarke_no_memory(err);
  node->n_out = node->n_attr = 1;
  node->out[0] = strdup(port->name);
  node->attr[0].name = strdup("value");
  node->attr[0].type = CLARKE_ATTR_TENSOR;
  if (node->out[0] == NULL || node->attr[0].name == NULL)
    return clarke_no_memory(err);
  return copy_tensor(&node->attr[0].t, t, err);
}

/* Puts a Constant node before the others. */
static clarke_status
add_constant(clarke_model *m, const clarke_model_port *port, const clarke_tensor *t, clarke_error *err)
{
  clarke_model_node *grown = realloc(m->nodes, (m->n_nodes + 1) * sizeof *grown);

  if (grown == NULL)
    return clarke_no_memory(err);
  m->nodes = grown;
  memmove(grown + 1, grown, m->n_nodes * sizeof *grown);
  memset(grown, 0, sizeof *grown);
  m->n_nodes++;
  return fill_constant(grown, port, t, err);
}

clarke_status
clarke_inputs_take(clarke_model *m, const clarke_tensor *x, const clarke_tensor *batch, size_t n, const char *file,
                   clarke_error *err)
{
  if (m->n_inputs > MOST_INPUTS)
    return clarke_fail(err, CLARKE_EINPUT, "%s: %zu inputs; at most %d are taken", m->file, m->n_inputs, MOST_INPUTS);
  for (size_t i = 0; i < n; i++)
    if (strcmp(batch[i].name, "x") != 0 && strcmp(batch[i].name, "y") != 0 && !is_input(m, batch[i].name))
      return clarke_fail(err, CLARKE_EINPUT, "%s: array '%s'; a batch has x, y perhaps, and arrays by the names of further inputs",
                         file, batch[i].name);
  if (m->n_inputs < 2)
    return CLARKE_OK;
  if (!is_one_run(&m->inputs[0], x))
    return clarke_fail(err, CLARKE_EINPUT, "%s: %zu inputs; that is supported where the batch is one input of a model without a "
                       "batch axis: x with one axis more than input '%s', 1, the others as their inputs declare", m->file,
                       m->n_inputs, m->inputs[0].name);
  while (m->n_inputs > 1) {
    const clarke_model_port *port = &m->inputs[m->n_inputs - 1];
    const clarke_tensor *t = find_array(batch, n, port->name);
    clarke_status status;

    if (t == NULL || !port->shaped || !clarke_port_fits(port, 0, t->dims, t->rank))
      return clarke_fail(err, CLARKE_EINPUT, "%s: input '%s': %s has no array of that name and declared shape", m->file,
                         port->name, file);
    status = add_constant(m, port, t, err);
    if (status != CLARKE_OK)
      return status;
    clarke_model_drop_input(m, m->n_inputs - 1);
  }
  return CLARKE_OK;
}
