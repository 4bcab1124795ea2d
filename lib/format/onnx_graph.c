/* GraphProto: the model's own graph, or one that a node holds. It is read in two passes over its fields, one to count and one to
 * fill, so that nothing is allocated which the file does not hold. */
#include "format/onnx_inside.h"

#include <stdlib.h>

enum { NODE = 1, INITIALIZER = 5, INPUT = 11, OUTPUT = 12, VALUE_INFO = 13, SPARSE_INITIALIZER = 15 };

/* A message that is not supported is read for what names it. */
static const clarke_wire_rule sparse_rules[] = {
  { 1, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "values", NULL },
};
static const clarke_wire_message sparse_message = { "SparseTensorProto", 1, sparse_rules };

static clarke_status
refuse_sparse(clarke_wire_span span, clarke_error *err)
{
  const clarke_wire_span values = clarke_wire_find(span, &sparse_message, 1);

  return clarke_onnx_refuse_named("sparse initializer", clarke_onnx_tensor_name(values),
                                  "not supported; expected dense initializers", err);
}

static clarke_status
count(clarke_body *g, size_t *n_declared, clarke_wire_span span, clarke_error *err)
{
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status;

  clarke_wire_open(&w, &clarke_onnx_graph_message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0) {
    g->n_nodes += f.number == NODE;
    g->n_tensors += f.number == INITIALIZER;
    g->n_inputs += f.number == INPUT;
    g->n_outputs += f.number == OUTPUT;
    *n_declared += f.number == VALUE_INFO;
    if (f.number == SPARSE_INITIALIZER)
      return refuse_sparse(f.span, err);
  }
  return status;
}

static clarke_status
allocate(clarke_body *g, clarke_error *err)
{
  g->nodes = calloc(g->n_nodes + 1, sizeof *g->nodes);
  g->tensors = calloc(g->n_tensors + 1, sizeof *g->tensors);
  g->inputs = calloc(g->n_inputs + 1, sizeof *g->inputs);
  g->outputs = calloc(g->n_outputs + 1, sizeof *g->outputs);
  if (g->nodes == NULL || g->tensors == NULL || g->inputs == NULL || g->outputs == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu nodes and %zu initializers", g->n_nodes, g->n_tensors);
  return CLARKE_OK;
}

static clarke_status
read_initializer(clarke_tensor *t, clarke_wire_span span, clarke_external *external, clarke_error *err)
{
  clarke_status status;

  clarke_tensor_init(t);
  status = clarke_onnx_tensor(t, span, "", external, err);
  if (status == CLARKE_OK && *t->name == '\0')
    status = clarke_fail(err, CLARKE_EINPUT, "has no name");
  return status == CLARKE_OK ? status : clarke_fail_in(err, status, "initializer");
}

/* The types of a node's graph are told where the file has them; sequences and optional values have none here. */
static clarke_status
read_port(clarke_model_port *port, const char *what, bool own, clarke_wire_span span, clarke_error *err)
{
  const clarke_status status = clarke_onnx_port(port, what, own, span, err);

  if (status == CLARKE_OK && *port->name == '\0')
    return clarke_fail(err, CLARKE_EINPUT, "an %s of a node's graph has no name", what);
  return status;
}

static clarke_status
fill(clarke_body *g, clarke_model *m, size_t depth, clarke_wire_span span, clarke_external *external, clarke_error *err)
{
  size_t node = 0, tensor = 0, input = 0, output = 0, declared = 0;
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status;

  clarke_wire_open(&w, &clarke_onnx_graph_message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0) {
    if (f.number == NODE) {
      status = clarke_onnx_node(&g->nodes[node], node, depth, f.span, err);
      node++;
    } else if (f.number == INITIALIZER) {
      status = read_initializer(&g->tensors[tensor++], f.span, external, err);
    } else if (f.number == INPUT) {
      status = read_port(&g->inputs[input++], "input", m != NULL, f.span, err);
    } else if (f.number == OUTPUT) {
      status = read_port(&g->outputs[output++], "output", m != NULL, f.span, err);
    } else if (f.number == VALUE_INFO && m != NULL) {
      status = clarke_onnx_port(&m->declared[declared++], "value_info", false, f.span, err);
    }
    if (status != CLARKE_OK)
      return status;
  }
  return status;
}

clarke_status
clarke_onnx_graph(clarke_body *g, clarke_model *m, size_t depth, clarke_wire_span span, clarke_external *external, clarke_error *err)
{
  size_t declared = 0;
  clarke_status status = count(g, &declared, span, err);

  if (status == CLARKE_OK)
    status = allocate(g, err);
  if (status != CLARKE_OK)
    return status;
  if (m != NULL) {
    m->declared = calloc(declared + g->n_inputs + 1, sizeof *m->declared);
    if (m->declared == NULL)
      return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu declared types", declared);
    m->n_declared = declared;
  }
  return fill(g, m, depth, span, external, err);
}
