/* ONNX models: ModelProto and GraphProto. The graph is read in two passes over its fields, one to
 * count and one to fill, so that nothing is allocated which the file does not hold. */
#include "format/onnx.h"
#include "format/readers.h"
#include "format/text.h"

#include <stdlib.h>
#include <string.h>

/* The newest IR version whose messages are known: a later one may add fields that change what the
 * known ones mean. */
#define MAX_IR_VERSION 14

enum { IR_VERSION = 1, GRAPH = 7, OPSET_IMPORT = 8, FUNCTIONS = 25 };

static const clarke_wire_rule model_rules[] = {
  { IR_VERSION, CLARKE_WIRE_VARINT, CLARKE_WIRE_ONE, "ir_version" },
  { GRAPH, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "graph" },
  { OPSET_IMPORT, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "opset_import" },
  { FUNCTIONS, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "functions" },
};
static const clarke_wire_message model_message = { "ModelProto", 4, model_rules };

static const clarke_wire_rule opset_rules[] = {
  { 1, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "domain" },
  { 2, CLARKE_WIRE_VARINT, CLARKE_WIRE_ONE, "version" },
};
static const clarke_wire_message opset_message = { "OperatorSetIdProto", 2, opset_rules };

enum { NODE = 1, INITIALIZER = 5, INPUT = 11, OUTPUT = 12, SPARSE_INITIALIZER = 15 };

static const clarke_wire_rule graph_rules[] = {
  { NODE, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "node" },
  { INITIALIZER, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "initializer" },
  { INPUT, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "input" },
  { OUTPUT, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "output" },
  { SPARSE_INITIALIZER, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "sparse_initializer" },
};
static const clarke_wire_message graph_message = { "GraphProto", 5, graph_rules };

static const clarke_wire_rule sparse_rules[] = {
  { 1, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "values" },
};
static const clarke_wire_message sparse_message = { "SparseTensorProto", 1, sparse_rules };

static const clarke_wire_rule name_of_function[] = {
  { 1, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "name" },
};
static const clarke_wire_message named_function = { "FunctionProto", 1, name_of_function };

static clarke_status
refuse_named(const char *what, clarke_wire_span name, const char *why, clarke_error *err)
{
  char *text;

  if (clarke_text_copy(&text, name.data, name.size, what, NULL) != CLARKE_OK)
    return clarke_fail(err, CLARKE_EINPUT, "%s: %s", what, why);
  clarke_fail(err, CLARKE_EINPUT, "%s \"%s\": %s", what, text, why);
  free(text);
  return CLARKE_EINPUT;
}

static clarke_status
refuse_sparse(clarke_wire_span span, clarke_error *err)
{
  const clarke_wire_span values = clarke_wire_find(span, &sparse_message);

  return refuse_named("sparse initializer", clarke_onnx_tensor_name(values),
                      "not supported; expected dense initializers", err);
}

static clarke_status
count_graph(clarke_model *m, clarke_wire_span span, clarke_error *err)
{
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status;

  clarke_wire_open(&w, &graph_message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0) {
    m->n_nodes += f.number == NODE;
    m->n_tensors += f.number == INITIALIZER;
    m->n_inputs += f.number == INPUT;
    m->n_outputs += f.number == OUTPUT;
    if (f.number == SPARSE_INITIALIZER)
      return refuse_sparse(f.span, err);
  }
  return status;
}

static clarke_status
allocate_graph(clarke_model *m, clarke_error *err)
{
  m->nodes = calloc(m->n_nodes + 1, sizeof *m->nodes);
  m->tensors = calloc(m->n_tensors + 1, sizeof *m->tensors);
  m->inputs = calloc(m->n_inputs + 1, sizeof *m->inputs);
  m->outputs = calloc(m->n_outputs + 1, sizeof *m->outputs);
  if (m->nodes == NULL || m->tensors == NULL || m->inputs == NULL || m->outputs == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu nodes and %zu initializers",
                       m->n_nodes, m->n_tensors);
  return CLARKE_OK;
}

static clarke_status
read_initializer(clarke_tensor *t, clarke_wire_span span, clarke_external *external,
                 clarke_error *err)
{
  clarke_status status;

  clarke_tensor_init(t);
  status = clarke_onnx_tensor(t, span, "", external, err);
  if (status == CLARKE_OK && *t->name == '\0')
    status = clarke_fail(err, CLARKE_EINPUT, "has no name");
  return status == CLARKE_OK ? status : clarke_fail_in(err, status, "initializer");
}

static clarke_status
fill_graph(clarke_model *m, clarke_wire_span span, clarke_external *external, clarke_error *err)
{
  size_t node = 0, tensor = 0, input = 0, output = 0;
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status;

  clarke_wire_open(&w, &graph_message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0) {
    if (f.number == NODE) {
      status = clarke_onnx_node(&m->nodes[node], node, f.span, err);
      node++;
    } else if (f.number == INITIALIZER) {
      status = read_initializer(&m->tensors[tensor++], f.span, external, err);
    } else if (f.number == INPUT) {
      status = clarke_onnx_port(&m->inputs[input++], "input", f.span, err);
    } else if (f.number == OUTPUT) {
      status = clarke_onnx_port(&m->outputs[output++], "output", f.span, err);
    }
    if (status != CLARKE_OK)
      return status;
  }
  return status;
}

/* A name and what gives it a value. */
typedef struct {
  const char *name;
  const char *by; /* "initializer", "graph input" or "node output" */
} definition;

static int
by_name(const void *a, const void *b)
{
  return strcmp(((const definition *)a)->name, ((const definition *)b)->name);
}

/* Moves the inputs that no initializer defines to the front and drops the others: before IR
 * version 4 the weights had to be listed as inputs too. tensors: sorted by name. */
static void
drop_initialized_inputs(clarke_model *m, const definition *tensors)
{
  size_t kept = 0;

  for (size_t i = 0; i < m->n_inputs; i++) {
    const definition key = { m->inputs[i].name, "graph input" };

    if (m->n_tensors != 0
        && bsearch(&key, tensors, m->n_tensors, sizeof *tensors, by_name) != NULL) {
      free(m->inputs[i].name);
      continue;
    }
    m->inputs[kept++] = m->inputs[i];
  }
  m->n_inputs = kept;
}

static clarke_status
check_unique(definition *d, size_t n, clarke_error *err)
{
  if (n > 1)
    qsort(d, n, sizeof *d, by_name);
  for (size_t i = 1; i < n; i++)
    if (strcmp(d[i - 1].name, d[i].name) == 0)
      return clarke_fail(err, CLARKE_EINPUT, "\"%s\" is defined twice: as %s and as %s",
                         d[i].name, d[i - 1].by, d[i].by);
  return CLARKE_OK;
}

/* Checks that every name is given a value once: by an initializer, an input or a node. */
static clarke_status
check_names(clarke_model *m, definition *d, clarke_error *err)
{
  size_t n = 0;
  clarke_status status;

  for (size_t i = 0; i < m->n_inputs; i++)
    d[n++] = (definition){ m->inputs[i].name, "graph input" };
  status = check_unique(d, n, err);
  if (status != CLARKE_OK)
    return status;
  n = 0;
  for (size_t i = 0; i < m->n_tensors; i++)
    d[n++] = (definition){ m->tensors[i].name, "initializer" };
  status = check_unique(d, n, err);
  if (status != CLARKE_OK)
    return status;
  drop_initialized_inputs(m, d);
  for (size_t i = 0; i < m->n_inputs; i++)
    d[n++] = (definition){ m->inputs[i].name, "graph input" };
  for (size_t i = 0; i < m->n_nodes; i++)
    for (size_t k = 0; k < m->nodes[i].n_out; k++)
      if (*m->nodes[i].out[k] != '\0')
        d[n++] = (definition){ m->nodes[i].out[k], "node output" };
  return check_unique(d, n, err);
}

static clarke_status
check_definitions(clarke_model *m, clarke_error *err)
{
  size_t n = m->n_tensors + m->n_inputs;
  definition *d;
  clarke_status status;

  for (size_t i = 0; i < m->n_nodes; i++)
    n += m->nodes[i].n_out;
  d = calloc(n + 1, sizeof *d);
  if (d == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu names", n);
  status = check_names(m, d, err);
  free(d);
  return status;
}

static clarke_status
read_graph(clarke_model *m, clarke_wire_span span, clarke_external *external, clarke_error *err)
{
  clarke_status status = count_graph(m, span, err);

  if (status == CLARKE_OK)
    status = allocate_graph(m, err);
  if (status == CLARKE_OK)
    status = fill_graph(m, span, external, err);
  if (status == CLARKE_OK)
    status = check_definitions(m, err);
  return status;
}

/* Records the version when the import is the default domain's. */
static clarke_status
read_opset(clarke_model *m, clarke_wire_span span, clarke_error *err)
{
  clarke_wire_span domain = { span.base, span.base, 0 };
  uint64_t version = 0;
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status;

  clarke_wire_open(&w, &opset_message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0) {
    if (f.number == 1)
      domain = f.span;
    else
      version = f.value;
  }
  if (status != CLARKE_OK)
    return status;
  if (domain.size != 0 && (domain.size != 7 || memcmp(domain.data, "ai.onnx", 7) != 0))
    return CLARKE_OK;
  if (m->opset != 0)
    return clarke_fail(err, CLARKE_EINPUT, "two operator sets are imported for the default domain");
  if (version == 0 || version > INT64_MAX)
    return clarke_fail(err, CLARKE_EINPUT, "the default domain's operator set has version %lld",
                       (long long)(int64_t)version);
  m->opset = (int64_t)version;
  return CLARKE_OK;
}

/* Reads what surrounds the graph; *graph is the graph's bytes. */
static clarke_status
read_header(clarke_model *m, clarke_wire_span *graph, clarke_wire_span span, clarke_error *err)
{
  uint64_t ir = 0;
  bool found = false;
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status;

  clarke_wire_open(&w, &model_message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0) {
    if (f.number == IR_VERSION)
      ir = f.value;
    else if (f.number == OPSET_IMPORT)
      status = read_opset(m, f.span, err);
    else if (f.number == FUNCTIONS)
      status = refuse_named("function", clarke_wire_find(f.span, &named_function),
                            "model-local functions are not supported", err);
    if (f.number == GRAPH) {
      *graph = f.span;
      found = true;
    }
    if (status != CLARKE_OK)
      return status;
  }
  if (status != CLARKE_OK)
    return clarke_fail_in(err, status, "not an ONNX model");
  if (ir == 0 || !found)
    return clarke_fail(err, CLARKE_EINPUT, "not an ONNX model: it has no %s",
                       ir == 0 ? "ir_version" : "graph");
  if (ir > MAX_IR_VERSION)
    return clarke_fail(err, CLARKE_EINPUT, "ir_version %llu; versions 1 to %d are read",
                       (unsigned long long)ir, MAX_IR_VERSION);
  if (m->opset == 0)
    return clarke_fail(err, CLARKE_EINPUT, "no operator set is imported for the default domain");
  return CLARKE_OK;
}

static clarke_status
parse(clarke_model *m, const void *data, size_t size, const char *file, clarke_external *external,
      clarke_error *err)
{
  const clarke_wire_span whole = { data, data, size };
  clarke_wire_span graph = whole;
  clarke_status status;

  clarke_model_clear(m);
  m->file = strdup(clarke_base_name(file));
  if (m->file == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "%s: no memory for its name", file);
  status = read_header(m, &graph, whole, err);
  if (status == CLARKE_OK)
    status = read_graph(m, graph, external, err);
  if (status == CLARKE_OK)
    return status;
  clarke_model_clear(m);
  return clarke_fail_in(err, status, "%s", file);
}

clarke_status
clarke_onnx_parse(clarke_model *m, const void *data, size_t size, const char *file,
                  clarke_error *err)
{
  return parse(m, data, size, file, NULL, err);
}

clarke_status
clarke_onnx_parse_at(clarke_model *m, const void *data, size_t size, const char *path,
                     clarke_error *err)
{
  clarke_external external;
  clarke_status status;

  clarke_external_init(&external, path);
  status = parse(m, data, size, clarke_base_name(path), &external, err);
  if (status == CLARKE_OK)
    m->external = external.n != 0;
  clarke_external_clear(&external);
  return status;
}
