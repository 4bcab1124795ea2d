/* ONNX models: ModelProto, and what its graph's names stand for. */
#include "format/onnx.h"

#include "format/foreign.h"
#include "format/onnx_inside.h"
#include "base/text.h"
#include "op/dequantize.h"
#include "op/types.h"

#include <stdlib.h>
#include <string.h>

/* The newest IR version whose messages are known: a later one may add fields that change what the
 * known ones mean. */
#define MAX_IR_VERSION 14

/* Before it there is no importing of operator sets. */
#define MIN_IR_VERSION 3
/* Until this one initializers had to be among the inputs. */
#define LISTED_IR_VERSION 3

/* The producer of recorded steps. */
#define RECORDER "clarke.record"

enum { IR_VERSION = 1, PRODUCER_NAME = 2, GRAPH = 7, OPSET_IMPORT = 8, METADATA_PROPS = 14, FUNCTIONS = 25 };

enum { GRAPH_NAME = 2 };

/* A message that is not supported is read for what names it. */
static const clarke_wire_rule function_rules[] = {
  { 1, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "name", NULL },
};
static const clarke_wire_message function_message = { "FunctionProto", 1, function_rules };

clarke_status
clarke_onnx_refuse_named(const char *what, clarke_wire_span name, const char *why, clarke_error *err)
{
  char *text;

  if (name.size == 0 || clarke_text_copy(&text, name.data, name.size, what, NULL) != CLARKE_OK)
    return clarke_fail(err, CLARKE_EINPUT, "%s: %s", what, why);
  clarke_fail(err, CLARKE_EINPUT, "%s \"%s\": %s", what, text, why);
  free(text);
  return CLARKE_EINPUT;
}

static clarke_status
read_nodes(clarke_model *m, clarke_wire_span span, clarke_external *external, clarke_error *err)
{
  clarke_body g = { 0 };
  const clarke_status status = clarke_onnx_graph(&g, m, 0, span, external, err);

  m->n_nodes = g.n_nodes;
  m->n_tensors = g.n_tensors;
  m->n_inputs = g.n_inputs;
  m->n_outputs = g.n_outputs;
  m->nodes = g.nodes;
  m->tensors = g.tensors;
  m->inputs = g.inputs;
  m->outputs = g.outputs;
  return status;
}

/* A name and what gives it a value. */
typedef struct {
  const char *name;
  const char *by; /* "initializer", "graph input", "node output" or "in a node's graph" */
} definition;

typedef struct {
  definition *d; /* NULL: they are counted */
  size_t n;
} definitions;

static void
add_within(void *user, const char *name)
{
  definitions *all = user;

  if (all->d != NULL)
    all->d[all->n] = (definition){ name, "something in a node's graph" };
  all->n++;
}

static int
by_name(const void *a, const void *b)
{
  return strcmp(((const definition *)a)->name, ((const definition *)b)->name);
}

/* Moves the inputs that no initializer defines to the front. The others declare what the initializer is: before IR
 * version 4 the weights had to be listed as inputs too. tensors: sorted by name. */
static void
part_initialized_inputs(clarke_model *m, const definition *tensors)
{
  size_t kept = 0;

  for (size_t i = 0; i < m->n_inputs; i++) {
    const definition key = { m->inputs[i].name, "graph input" };

    if (m->n_tensors != 0
        && bsearch(&key, tensors, m->n_tensors, sizeof *tensors, by_name) != NULL) {
      m->declared[m->n_declared++] = m->inputs[i];
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

/* inputs: all of the model's, sorted by name. */
static clarke_status
check_listed(const clarke_model *m, const definition *inputs, clarke_error *err)
{
  for (size_t i = 0; i < m->n_tensors; i++) {
    const definition key = { m->tensors[i].name, "initializer" };

    if (m->n_inputs == 0
        || bsearch(&key, inputs, m->n_inputs, sizeof *inputs, by_name) == NULL)
      return clarke_fail(err, CLARKE_EINPUT, "initializer \"%s\" is no input; in IR version %d all "
                         "must be", key.name, LISTED_IR_VERSION);
  }
  return CLARKE_OK;
}

/* Checks that every name is given a value once: by an initializer, an input or a node; by one of so many things in graphs within
 * nodes. listed: must initializers be inputs too? */
static clarke_status
check_names(clarke_model *m, bool listed, definition *d, size_t within, clarke_error *err)
{
  size_t n = 0;
  clarke_status status;

  for (size_t i = 0; i < m->n_inputs; i++)
    d[n++] = (definition){ m->inputs[i].name, "graph input" };
  status = check_unique(d, n, err);
  if (status == CLARKE_OK && listed)
    status = check_listed(m, d, err);
  if (status != CLARKE_OK)
    return status;
  n = 0;
  for (size_t i = 0; i < m->n_tensors; i++)
    d[n++] = (definition){ m->tensors[i].name, "initializer" };
  status = check_unique(d, n, err);
  if (status != CLARKE_OK)
    return status;
  part_initialized_inputs(m, d);
  for (size_t i = 0; i < m->n_inputs; i++)
    d[n++] = (definition){ m->inputs[i].name, "graph input" };
  for (size_t i = 0; i < m->n_nodes; i++)
    for (size_t k = 0; k < m->nodes[i].n_out; k++)
      if (*m->nodes[i].out[k] != '\0')
        d[n++] = (definition){ m->nodes[i].out[k], "node output" };
  clarke_onnx_within(m->nodes, m->n_nodes, add_within, &(definitions){ d + n, 0 });
  return check_unique(d, n + within, err);
}

static clarke_status
check_definitions(clarke_model *m, bool listed, clarke_error *err)
{
  size_t n = m->n_tensors + m->n_inputs;
  definitions within = { NULL, 0 };
  definition *d;
  clarke_status status;

  for (size_t i = 0; i < m->n_nodes; i++)
    n += m->nodes[i].n_out;
  clarke_onnx_within(m->nodes, m->n_nodes, add_within, &within);
  n += within.n;
  d = calloc(n + 1, sizeof *d);
  if (d == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu names", n);
  status = check_names(m, listed, d, within.n, err);
  free(d);
  return status;
}

static clarke_status
read_graph(clarke_model *m, bool listed, clarke_wire_span span, clarke_external *external,
           clarke_error *err)
{
  clarke_status status = read_nodes(m, span, external, err);

  if (status == CLARKE_OK && clarke_wire_find(span, &clarke_onnx_graph_message, GRAPH_NAME).size == 0)
    status = clarke_fail(err, CLARKE_EINPUT, "the graph has no name");
  if (status == CLARKE_OK)
    status = check_definitions(m, listed, err);
  return status == CLARKE_OK ? clarke_onnx_settle_bodies(m, err) : status;
}

/* The operators that a model without the default domain's has are read in this set. */
#define NO_DEFAULT_OPSET 24

/* Records the version when the import is the default domain's, or that of optimizers. */
static clarke_status
read_opset(clarke_model *m, clarke_wire_span span, clarke_error *err)
{
  clarke_wire_span domain = { span.base, span.base, 0 };
  uint64_t version = 0;
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status;

  clarke_wire_open(&w, &clarke_onnx_operator_set_message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0) {
    if (f.number == 1)
      domain = f.span;
    else
      version = f.value;
  }
  if (status != CLARKE_OK)
    return status;
  if (!clarke_text_valid((const char *)domain.data, domain.size))
    return clarke_fail(err, CLARKE_EINPUT, "the domain of an operator set is no text: UTF-8 without control characters");
  if (domain.size == sizeof CLARKE_DOMAIN_OF_TRAINING - 1 && memcmp(domain.data, CLARKE_DOMAIN_OF_TRAINING, domain.size) == 0) {
    if (m->training != 0)
      return clarke_fail(err, CLARKE_EINPUT, "two operator sets are imported for the domain of optimizers");
    m->training = version > 0 && version < INT64_MAX ? (int64_t)version : INT64_MAX;
  }
  if (domain.size != 0 && (domain.size != 7 || memcmp(domain.data, "ai.onnx", 7) != 0))
    return CLARKE_OK;
  if (m->opset != 0 && (uint64_t)m->opset != version)
    return clarke_fail(err, CLARKE_EINPUT, "two operator sets are imported for the default domain");
  if (version == 0 || version > INT64_MAX)
    return clarke_fail(err, CLARKE_EINPUT, "the default domain's operator set has version %lld",
                       (long long)(int64_t)version);
  m->opset = (int64_t)version;
  return CLARKE_OK;
}

/* Reads what surrounds the graph; *graph is the graph's bytes. */
static clarke_status
read_header(clarke_model *m, bool *listed, clarke_wire_span *graph, clarke_wire_span span,
            clarke_error *err)
{
  uint64_t ir = 0;
  bool found = false;
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status;

  clarke_wire_open(&w, &clarke_onnx_model_message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0) {
    if (f.number == IR_VERSION)
      ir = f.value;
    else if (f.number == PRODUCER_NAME)
      m->recorded = f.span.size == sizeof RECORDER - 1 && memcmp(f.span.data, RECORDER, f.span.size) == 0;
    else if (f.number == OPSET_IMPORT)
      status = read_opset(m, f.span, err);
    else if (f.number == FUNCTIONS)
      status = clarke_onnx_refuse_named("function", clarke_wire_find(f.span, &function_message, 1),
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
  if (ir < MIN_IR_VERSION || ir > MAX_IR_VERSION)
    return clarke_fail(err, CLARKE_EINPUT, "ir_version %llu; versions %d to %d are read",
                       (unsigned long long)ir, MIN_IR_VERSION, MAX_IR_VERSION);
  *listed = ir == LISTED_IR_VERSION;
  if (m->opset == 0 && m->training == 0)
    return clarke_fail(err, CLARKE_EINPUT, "no operator set is imported for the default domain");
  return CLARKE_OK;
}

/* A model of optimizers alone needs no operator set for the default domain. */
static clarke_status
settle_opset(clarke_model *m, clarke_error *err)
{
  for (size_t i = 0; i < m->n_nodes && m->opset == 0; i++)
    if (strcmp(m->nodes[i].domain, CLARKE_DOMAIN_OF_TRAINING) != 0)
      return clarke_fail(err, CLARKE_EINPUT, "no operator set is imported for the default domain");
  m->opset = m->opset == 0 ? NO_DEFAULT_OPSET : m->opset;
  return CLARKE_OK;
}

static int
by_bytes(const void *a, const void *b)
{
  const clarke_wire_span *x = a, *y = b;
  const size_t least = x->size < y->size ? x->size : y->size;
  const int order = least != 0 ? memcmp(x->data, y->data, least) : 0;

  return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

/* The keys of the model's metadata, as many as there is room for; returns how many there are. */
static size_t
metadata_keys(clarke_wire_span *key, size_t room, clarke_wire_span span)
{
  size_t n = 0;
  clarke_wire w;
  clarke_wire_field f;

  clarke_wire_open(&w, &clarke_onnx_model_message, span);
  while (clarke_wire_next(&w, &f, NULL) == CLARKE_OK && f.number != 0) {
    if (f.number == METADATA_PROPS && n < room)
      key[n] = clarke_wire_find(f.span, &clarke_onnx_entry_message, 1);
    n += f.number == METADATA_PROPS;
  }
  return n;
}

/* ONNX's checker refuses a key given twice. */
static clarke_status
check_metadata(clarke_wire_span span, clarke_error *err)
{
  const size_t n = metadata_keys(NULL, 0, span);
  clarke_wire_span *key = calloc(n + 1, sizeof *key);
  clarke_status status = CLARKE_OK;

  if (key == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu keys", n);
  metadata_keys(key, n, span);
  if (n > 1)
    qsort(key, n, sizeof *key, by_bytes);
  for (size_t i = 1; i < n && status == CLARKE_OK; i++)
    if (by_bytes(&key[i - 1], &key[i]) == 0)
      status = clarke_onnx_refuse_named("metadata", key[i], "is given twice", err);
  free(key);
  return status;
}

/* A header that was refused, of a file that seems to be another program's. */
static clarke_status
refuse_foreign(const void *data, size_t size, clarke_status status, clarke_error *err)
{
  const char *what = status == CLARKE_EINPUT ? clarke_foreign_model(data, size) : NULL;

  return what == NULL ? status : clarke_fail(err, CLARKE_EINPUT, "not an ONNX model, but %s", what);
}

static clarke_status
parse(clarke_model *m, const void *data, size_t size, const char *file, clarke_external *external, bool step,
      clarke_error *err)
{
  const clarke_wire_span whole = { data, data, size };
  clarke_wire_span graph = whole;
  bool listed = false;
  clarke_status status;

  clarke_model_clear(m);
  m->file = strdup(clarke_base_name(file));
  if (m->file == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "%s: no memory for its name", file);
  status = read_header(m, &listed, &graph, whole, err);
  if (status != CLARKE_OK)
    status = refuse_foreign(data, size, status, err);
  if (status == CLARKE_OK)
    status = read_graph(m, listed, graph, external, err);
  if (status == CLARKE_OK)
    status = settle_opset(m, err);
  if (status == CLARKE_OK)
    status = check_metadata(whole, err);
  if (status == CLARKE_OK)
    status = clarke_wire_check(whole, &clarke_onnx_model_message, err);
  if (status == CLARKE_OK && !(step && m->recorded))
    status = clarke_types_check(m, err);
  for (size_t i = 0; i < m->n_nodes && status == CLARKE_OK && step && m->recorded; i++)
    for (size_t a = 0; a < m->nodes[i].n_attr; a++)
      if (m->nodes[i].attr[a].g != NULL)
        status = clarke_fail(err, CLARKE_EINPUT, "a recorded step has node %zu (%s), which holds a graph", i, m->nodes[i].op_type);
  if (status == CLARKE_OK)
    status = clarke_dequantize_weights(m, err);
  if (status == CLARKE_OK)
    return status;
  clarke_model_clear(m);
  return clarke_fail_in(err, status, "%s", file);
}

clarke_status
clarke_onnx_parse(clarke_model *m, const void *data, size_t size, const char *file,
                  clarke_error *err)
{
  return parse(m, data, size, file, NULL, false, err);
}

static clarke_status
parse_at(clarke_model *m, const void *data, size_t size, const char *path, bool step, clarke_error *err)
{
  clarke_external external;
  clarke_status status;

  clarke_external_init(&external, path);
  status = parse(m, data, size, clarke_base_name(path), &external, step, err);
  if (status == CLARKE_OK)
    m->external = external.n != 0;
  clarke_external_clear(&external);
  return status;
}

clarke_status
clarke_onnx_parse_at(clarke_model *m, const void *data, size_t size, const char *path,
                     clarke_error *err)
{
  return parse_at(m, data, size, path, false, err);
}

clarke_status
clarke_onnx_parse_step(clarke_model *m, const void *data, size_t size, const char *path, clarke_error *err)
{
  return parse_at(m, data, size, path, true, err);
}
