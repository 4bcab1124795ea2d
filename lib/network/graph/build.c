#define _GNU_SOURCE /* tdestroy */
/* From a file's model to a typed graph: names resolved, shapes worked out, nodes lowered. */
#include "network/graph/build.h"

#include "base/kept.h"
#include "base/limit.h"
#include "base/room.h"
#include "base/verify.h"
#include "network/graph/bodies.h"
#include "network/graph/choose.h"
#include "op/lower.h"
#include "op/node.h"

#include <math.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPSET_MIN 7
#define OPSET_MAX 28

/* Values by name, for the time of building. */
typedef struct {
  char *name;
  size_t value;
} binding;

static int
compare_bindings(const void *a, const void *b)
{
  return strcmp(((const binding *)a)->name, ((const binding *)b)->name);
}

static clarke_status
no_memory(const clarke_builder *b, clarke_error *err)
{
  return clarke_fail(err, CLARKE_ENOMEM, "%s: out of memory", b->m->file);
}

clarke_status
clarke_builder_bind(clarke_builder *b, const char *name, size_t value, clarke_error *err)
{
  binding *entry = malloc(sizeof *entry);
  void *found;

  if (entry == NULL)
    return no_memory(b, err);
  entry->name = strdup(name);
  entry->value = value;
  found = entry->name != NULL ? tsearch(entry, &b->names, compare_bindings) : NULL;
  if (found != NULL && *(binding **)found == entry)
    return CLARKE_OK;
  free(entry->name);
  free(entry);
  return found == NULL ? no_memory(b, err)
                       : clarke_fail(err, CLARKE_EINPUT, "%s: '%s' is defined twice", b->m->file,
                                     name);
}

static void
free_binding(void *entry)
{
  free(((binding *)entry)->name);
  free(entry);
}

size_t
clarke_builder_find(const clarke_builder *b, const char *name)
{
  binding key = {.name = (char *)(uintptr_t)name};
  void *found = tfind(&key, &b->names, compare_bindings);

  return found != NULL ? (*(binding **)found)->value : CLARKE_NONE;
}

clarke_value *
clarke_builder_value(clarke_builder *b, const char *name, clarke_error *err)
{
  clarke_graph *g = b->g;
  clarke_value *v;

  if (!clarke_room(&g->values, &g->capacity_values, g->n_values + 1, sizeof *g->values)) {
    no_memory(b, err);
    return NULL;
  }
  v = &g->values[g->n_values++];
  memset(v, 0, sizeof *v);
  v->producer = v->parameter = v->made_of = CLARKE_NONE;
  v->count = 1;
  v->name = strdup(name);
  if (v->name != NULL && clarke_builder_bind(b, name, g->n_values - 1, err) == CLARKE_OK)
    return v;
  if (v->name == NULL)
    no_memory(b, err);
  return NULL;
}

/* The tensor's entries become v's, or a copy of them. */
static clarke_status
set_entries(clarke_builder *b, clarke_value *v, const clarke_tensor *t, clarke_tensor *taken, clarke_error *err)
{
  if (taken != NULL) {
    v->real = taken->real;
    v->integer = taken->integer;
    taken->real = NULL;
    taken->integer = NULL;
  } else if (t->real != NULL) {
    v->real = malloc((t->count + 1) * sizeof *v->real);
    if (v->real == NULL)
      return no_memory(b, err);
    memcpy(v->real, t->real, t->count * sizeof *v->real);
  } else {
    v->integer = malloc((t->count + 1) * sizeof *v->integer);
    if (v->integer == NULL)
      return no_memory(b, err);
    memcpy(v->integer, t->integer, t->count * sizeof *v->integer);
  }
  for (size_t i = 0; i < t->count && v->real != NULL && !v->odd; i++)
    v->odd = !isfinite(v->real[i]);
  return CLARKE_OK;
}

/* taken: t, whose entries are taken; or NULL. */
static clarke_status
add_constant(clarke_builder *b, const char *name, const clarke_tensor *t, clarke_tensor *taken, bool initializer, clarke_error *err)
{
  clarke_value *v = clarke_builder_value(b, name, err);

  if (v == NULL)
    return err != NULL ? err->code : CLARKE_EINPUT;
  v->constant = true;
  v->initializer = initializer;
  v->rank = t->rank;
  memcpy(v->dims, t->dims, sizeof v->dims);
  v->count = t->count;
  v->dtype = t->dtype;
  return set_entries(b, v, t, taken, err);
}

/* Is that the name of a Constant's value of this type? Numbers have been attributes since opset 12. */
static bool
names_value(const clarke_attr *a, int64_t opset)
{
  static const char *const name[] = {[CLARKE_ATTR_TENSOR] = "value",
                                     [CLARKE_ATTR_INT] = "value_int", [CLARKE_ATTR_INTS] = "value_ints",
                                     [CLARKE_ATTR_FLOAT] = "value_float",
                                     [CLARKE_ATTR_FLOATS] = "value_floats"};

  return a->type != CLARKE_ATTR_STRING && a->type != CLARKE_ATTR_STRINGS && a->type < CLARKE_ATTR_GRAPH
         && (opset >= 12 || a->type == CLARKE_ATTR_TENSOR) && strcmp(a->name, name[a->type]) == 0;
}

/* Constant nodes: the tensor itself, or numbers given as attributes. */
static clarke_status
add_constant_node(clarke_builder *b, const clarke_model_node *node, size_t place, clarke_error *err)
{
  const clarke_attr *a = node->n_attr == 1 ? &node->attr[0] : NULL;
  clarke_tensor t;
  clarke_status status = CLARKE_OK;
  size_t n;

  if (a == NULL || node->n_out != 1 || node->n_in != 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: node %zu '%s' (Constant): expected one attribute, "
                       "no input and one output", b->m->file, place, node->name);
  if (!names_value(a, b->m->opset))
    return clarke_fail(err, CLARKE_EINPUT, "%s: node %zu '%s' (Constant): attribute '%s' is not "
                       "supported in operator set %lld, or of another type", b->m->file, place,
                       node->name, a->name, (long long)b->m->opset);
  if (node->promoted)
    return CLARKE_OK;
  if (a->type == CLARKE_ATTR_TENSOR)
    return add_constant(b, node->out[0], &a->t, NULL, false, err);
  clarke_tensor_init(&t);
  n = a->type == CLARKE_ATTR_INTS || a->type == CLARKE_ATTR_FLOATS ? a->n : 1;
  if (a->type == CLARKE_ATTR_INT || a->type == CLARKE_ATTR_INTS) {
    status = clarke_tensor_shape(&t, node->out[0], CLARKE_I64, a->type == CLARKE_ATTR_INTS, &n, err);
    if (status == CLARKE_OK && n > 0)
      memcpy(t.integer, a->type == CLARKE_ATTR_INT ? &a->i : a->ints, n * sizeof *t.integer);
  } else {
    status = clarke_tensor_shape(&t, node->out[0], CLARKE_F32, a->type == CLARKE_ATTR_FLOATS, &n,
                                 err);
    if (status == CLARKE_OK && n > 0)
      memcpy(t.real, a->type == CLARKE_ATTR_FLOAT ? &a->f : a->floats, n * sizeof *t.real);
  }
  if (status == CLARKE_OK)
    status = add_constant(b, node->out[0], &t, NULL, false, err);
  clarke_tensor_clear(&t);
  return status;
}

/* The node whose output behind the first has the name, or n_nodes. */
static size_t
with_further_output(const clarke_model *m, const char *name, size_t *k)
{
  for (size_t i = 0; i < m->n_nodes; i++)
    for (*k = 1; *k < m->nodes[i].n_out; ++*k)
      if (strcmp(m->nodes[i].out[*k], name) == 0)
        return i;
  return m->n_nodes;
}

/* No value has the name of input i; a node may, as a further output, which is not made. */
static clarke_status
missing_input(const clarke_builder *b, const clarke_lowering *low, const char *name, clarke_error *err)
{
  size_t k = 0, i = with_further_output(b->m, name, &k);

  if (i < low->place)
    return clarke_lower_fail(low, err, "input '%s' is output %zu of node %zu '%s' (%s), which is not made: only its first output is", name, k, i,
                             b->m->nodes[i].name, b->m->nodes[i].op_type);
  return clarke_lower_fail(low, err, "input '%s' is not defined before this node", name);
}

static clarke_status
resolve_inputs(const clarke_builder *b, clarke_lowering *low, clarke_error *err)
{
  const clarke_model_node *node = low->node;
  const clarke_form *form = low->form;

  if (node->n_in < form->min_in || node->n_in > form->max_in + (node->masked ? 1 : 0) || node->n_out < 1)
    return clarke_lower_fail(low, err, "%zu inputs and %zu outputs; expected %zu to %zu and 1",
                             node->n_in, node->n_out, form->min_in, form->max_in);
  if ((node->out[0][0] == '\0' && !low->op->may_omit) || node->n_out > form->max_out)
    return node->n_out > form->max_out
             ? clarke_lower_fail(low, err, "%zu outputs; in this operator set it has %zu at most", node->n_out, form->max_out)
             : clarke_lower_fail(low, err, "its first output has no name: only that one is made");
  for (size_t i = 0; i < node->n_in; i++) {
    low->in[i] = node->in[i][0] != '\0' ? clarke_builder_find(b, node->in[i]) : CLARKE_NONE;
    if (node->in[i][0] != '\0' && low->in[i] == CLARKE_NONE)
      return missing_input(b, low, node->in[i], err);
  }
  low->n_in = node->n_in;
  return CLARKE_OK;
}

/* An attribute that the operator does not have in the model's operator set could change its
 * meaning: it is refused, and so is one of the wrong type. Of a flag that is another number than 0 and 1 some readers take
 * that it is set, and others that it is not. */
static clarke_status
check_attributes(const clarke_lowering *low, clarke_error *err)
{
  static const char letter[] = {[CLARKE_ATTR_INT] = 'i', [CLARKE_ATTR_FLOAT] = 'f',
                                [CLARKE_ATTR_STRING] = 's', [CLARKE_ATTR_TENSOR] = 't',
                                [CLARKE_ATTR_INTS] = 'I', [CLARKE_ATTR_FLOATS] = 'F', [CLARKE_ATTR_STRINGS] = 'S',
                                [CLARKE_ATTR_GRAPH] = '?', [CLARKE_ATTR_OTHER] = '?'};

  for (size_t i = 0; i < low->node->n_attr; i++) {
    const clarke_attr *a = &low->node->attr[i];
    const char *known = low->form->attributes != NULL ? low->form->attributes : "";
    size_t n = strlen(a->name);
    bool found = false, flag = false;

    for (const char *at = known; *at != '\0' && !found; at += strcspn(at, " "), at += *at == ' ') {
      flag = a->type == CLARKE_ATTR_INT && strncmp(at, a->name, n) == 0 && at[n] == ':' && at[n + 1] == 'b';
      found = flag || (strncmp(at, a->name, n) == 0 && at[n] == ':' && at[n + 1] == letter[a->type]);
    }
    if (flag && a->i != 0 && a->i != 1)
      return clarke_lower_fail(low, err, "attribute '%s' is %lld, of which readers of ONNX differ; expected 0 or 1", a->name,
                               (long long)a->i);
    if (!found)
      return clarke_lower_fail(low, err, "attribute '%s' is not known here (opset %lld), or of another "
                                         "type; expected: %s", a->name, (long long)low->opset,
                               *known != '\0' ? known : "no attribute");
  }
  return CLARKE_OK;
}

static bool
is_of_file(const clarke_builder *b, const clarke_model_node *node)
{
  return node->within || node >= b->m->nodes + b->m->added;
}

/* Ignored outputs have names that no other value may have, and none may read. */
clarke_status
clarke_builder_outputs(clarke_builder *b, const clarke_lowering *low, clarke_error *err)
{
  const clarke_model_node *node = low->node;
  const size_t first = low->out[0] != CLARKE_NONE ? low->out[0] : b->g->n_values - 1;
  clarke_status status = node->out[0][0] != '\0' ? clarke_builder_bind(b, node->out[0], first, err) : CLARKE_OK;

  b->g->values[first].printed = is_of_file(b, node) && node->out[0][0] != '\0';
  for (size_t i = 1; i < node->n_out && status == CLARKE_OK; i++)
    if (node->out[i][0] != '\0') {
      if (low->out[i] != CLARKE_NONE)
        b->g->values[low->out[i]].printed = is_of_file(b, node);
      status = clarke_builder_bind(b, node->out[i], low->out[i], err);
    }
  return status;
}

/* Is an output of the node behind the first read, or the model's own? */
static bool
others_are_read(const clarke_model *m, const clarke_model_node *node)
{
  bool read = false;

  for (size_t k = 1; k < node->n_out && !read; k++)
    read = node->out[k][0] != '\0' && (node->within || clarke_model_reads(m, node->out[k]));
  return read;
}

/* Is the operator of that domain? QONNX's operators were FINN's and Brevitas' before. */
static bool
is_of_domain(const clarke_op *op, const char *domain)
{
  const char *own = op->domain != NULL ? op->domain : "";

  return strcmp(own, domain) == 0
         || (strcmp(own, CLARKE_DOMAIN_OF_QONNX) == 0 && (strcmp(domain, "onnx.brevitas") == 0 || strcmp(domain, "finn.custom_op.general") == 0));
}

clarke_status
clarke_builder_node(clarke_builder *b, const clarke_model_node *node, size_t own, clarke_error *err)
{
  clarke_lowering low = {.graph = b->g, .node = node, .place = own, .opset = b->m->opset};
  clarke_status status;

  if (node->domain[0] == '\0' && strcmp(node->op_type, "Constant") == 0)
    return add_constant_node(b, node, own, err);
  if (clarke_bodies_hold(node))
    return clarke_bodies_lower(b, node, own, err);
  low.op = clarke_operator_find(node->op_type);
  if (low.op == NULL || low.op->lower == NULL || !is_of_domain(low.op, node->domain))
    return clarke_builder_unsupported(b, node, own, err);
  if (strcmp(node->domain, CLARKE_DOMAIN_OF_TRAINING) == 0 && b->m->training != 1)
    return clarke_lower_fail(&low, err, "operator set 1 of its domain, %s, is not imported", node->domain);
  low.form = clarke_node_form(low.op, low.opset);
  if (low.form == NULL)
    return clarke_lower_fail(&low, err, "the operator is newer than operator set %lld",
                             (long long)low.opset);
  low.in = malloc((node->n_in + node->n_out + 1) * sizeof *low.in);
  if (low.in == NULL)
    return no_memory(b, err);
  low.out = low.in + node->n_in;
  for (size_t i = 0; i < node->n_out; i++)
    low.out[i] = CLARKE_NONE;
  low.others = others_are_read(b->m, node);
  status = resolve_inputs(b, &low, err);
  if (status == CLARKE_OK)
    status = check_attributes(&low, err);
  if (status == CLARKE_OK && node->promoted) { /* its weights are initializers; its scale is a number, which no parameter is */
    b->g->values[low.in[1]].bound = true;
  } else {
    if (status == CLARKE_OK)
      status = clarke_node_lower(&low, err);
    if (status == CLARKE_OK)
      status = clarke_builder_outputs(b, &low, err);
  }
  free(low.in);
  return status;
}

static clarke_status
lower_place(clarke_builder *b, size_t place, clarke_error *err)
{
  const clarke_model_node *node = &b->m->nodes[place];

  return clarke_builder_node(b, node, (place >= b->m->added ? place - b->m->added : place) + node->gone, err);
}

/* Is the axis of samples the first, alone? Of one sample a run it may be merged with any: the whole output is that sample's. */
static bool
has_samples_first(const clarke_graph *g, const clarke_batch_axis *batch)
{
  return batch->merged ? g->together == 1 : batch->axis == 0;
}

/* No value has the name; a node may, as a further output, which is not made. */
static clarke_status
missing_output(const clarke_builder *b, const char *name, clarke_error *err)
{
  size_t k = 0, i = with_further_output(b->m, name, &k);

  if (i < b->m->n_nodes)
    return clarke_fail(err, CLARKE_EINPUT, "%s: output '%s' is output %zu of node %zu '%s' (%s), which is not supported: choose another "
                       "(--output)", b->m->file, name, k, i, b->m->nodes[i].name, b->m->nodes[i].op_type);
  return clarke_fail(err, CLARKE_EINPUT, "%s: output '%s' is computed by no node", b->m->file, name);
}

static clarke_status
find_output(clarke_builder *b, clarke_error *err)
{
  size_t v = clarke_builder_find(b, b->m->outputs[0].name);

  if (v == CLARKE_NONE)
    return missing_output(b, b->m->outputs[0].name, err);
  if (b->g->values[v].constant)
    return clarke_fail(err, CLARKE_EINPUT, "%s: output '%s' is a constant", b->m->file, b->m->outputs[0].name);
  if (b->g->values[v].excluded != NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s: output '%s' has entries that are %s", b->m->file, b->m->outputs[0].name,
                       b->g->values[v].undefined ? "NaN: lines of a Softmax that are minus infinity throughout" : "minus infinity");
  if (b->g->values[v].holds != CLARKE_HOLDS_FLOATS)
    return clarke_fail(err, CLARKE_EINPUT, "%s: output '%s' holds truth values or integers, of which no loss is taken: choose an output "
                       "of floats (--output)", b->m->file, b->m->outputs[0].name);
  if (b->g->batched && b->g->values[v].batch.none)
    return clarke_fail(err, CLARKE_EINPUT, "%s: output '%s' is computed of constants alone, and the same for all samples", b->m->file,
                       b->m->outputs[0].name);
  if (b->g->batched && !has_samples_first(b->g, &b->g->values[v].batch))
    return clarke_fail(err, CLARKE_EINPUT, "%s: output '%s' has the batch on axis %zu%s; expected on the first, alone. Reshape or Transpose "
                       "it, or choose another output (--output)", b->m->file,
                       b->m->outputs[0].name, b->g->values[v].batch.axis, b->g->values[v].batch.merged ? ", merged with others" : "");
  b->g->output = v;
  return clarke_builder_declared(b, err);
}

static clarke_status
check_model(const clarke_model *m, clarke_error *err)
{
  if (m->opset < OPSET_MIN || m->opset > OPSET_MAX)
    return clarke_fail(err, CLARKE_EINPUT, "%s: opset %lld; supported: %d to %d", m->file,
                       (long long)m->opset, OPSET_MIN, OPSET_MAX);
  if (m->n_inputs != 1)
    return clarke_fail(err, CLARKE_EINPUT, "%s: %zu inputs; expected one, and the target of a loss that the last nodes are "
                       "(docs/operators.md)", m->file, m->n_inputs);
  if (m->n_outputs != 1)
    return clarke_output_is_one(m, err);
  if (m->n_nodes > clarke_limit_of(CLARKE_LIMIT_NODES))
    return clarke_limit_fail(err, CLARKE_LIMIT_NODES, "%s: a network of %zu nodes", m->file, m->n_nodes);
  return CLARKE_OK;
}

/* What the step's entries are made of, each being a product with a weight: so many a sample. */
static size_t
products_of(const clarke_graph *g, const clarke_step *s)
{
  const size_t each = s->kind == CLARKE_DENSE     ? s->dense.inner
                      : s->kind == CLARKE_PRODUCT ? s->contraction.inner
                      : s->kind == CLARKE_MAX     ? s->width
                                                  : s->n_in;
  size_t n;

  return __builtin_mul_overflow(g->values[s->out].count, each, &n) ? SIZE_MAX : n;
}

/* Counts those of the steps from `first` on. */
static clarke_status
count_products(size_t *products, const clarke_graph *g, size_t first, clarke_error *err)
{
  for (size_t i = first; i < g->n_steps; i++) {
    const clarke_step *s = &g->steps[i];
    size_t all;

    if (__builtin_mul_overflow(products_of(g, s), g->samples, &all) || __builtin_add_overflow(all, *products, products)
        || *products > clarke_limit_of(CLARKE_LIMIT_PRODUCTS))
      return clarke_limit_fail(err, CLARKE_LIMIT_PRODUCTS, "%s: node %zu '%s' (%s): with it one pass over %zu samples has "
                               "more products of entries and weights than allowed", g->file, s->node, s->name, s->op->name,
                               g->samples);
  }
  return CLARKE_OK;
}

/* Only a Constant node of the file's may be named as a parameter: not what the batch has of further inputs, nor what is computed. */
static void
forget_unnamed(const clarke_builder *b)
{
  for (size_t i = 0; i < b->m->n_nodes; i++) {
    const bool named = i >= b->m->added && strcmp(b->m->nodes[i].op_type, "Constant") == 0;
    const size_t v = named ? CLARKE_NONE : clarke_builder_find(b, b->m->nodes[i].out[0]);

    if (v != CLARKE_NONE)
      b->g->values[v].weight = false;
  }
  for (size_t v = 0; v < b->g->n_values; v++)
    if (b->g->values[v].within || b->g->values[v].made)
      b->g->values[v].weight = false;
}

/* What is infinite or NaN was read by no step: it becomes 0, so that all numbers of a graph are finite. */
static void
forget_odd(const clarke_graph *g)
{
  for (size_t v = 0; v < g->n_values; v++)
    for (size_t e = 0; g->values[v].odd && e < g->values[v].count; e++)
      if (!isfinite(g->values[v].real[e]))
        g->values[v].real[e] = 0;
}

static clarke_status
build(clarke_builder *b, const clarke_tensor *x, clarke_error *err)
{
  const clarke_model *m = b->m;
  size_t products = 0;
  clarke_status status = check_model(m, err);

  b->g->surrogates = m->surrogates;
  b->g->file = strdup(m->file);
  b->g->kept = clarke_kept_new();
  if (b->g->file == NULL || b->g->kept == NULL)
    return no_memory(b, err);
  for (size_t i = 0; status == CLARKE_OK && i < m->n_tensors; i++)
    status = add_constant(b, m->tensors[i].name, &m->tensors[i], b->taken != NULL ? &b->taken[i] : NULL, true, err);
  if (status == CLARKE_OK)
    status = clarke_builder_input(b, x, err);
  for (size_t i = 0; status == CLARKE_OK && i < m->n_nodes; i++) {
    const size_t first = b->g->n_steps;

    status = lower_place(b, i, err);
    if (status == CLARKE_OK)
      status = count_products(&products, b->g, first, err);
  }
  if (status == CLARKE_OK)
    status = find_output(b, err);
  forget_odd(b->g);
  if (status == CLARKE_OK)
    forget_unnamed(b);
  if (status == CLARKE_OK)
    status = clarke_builder_parameters(b, err);
  return status == CLARKE_OK ? clarke_graph_mark_still(b->g, err) : status;
}

static clarke_status
build_graph(clarke_builder *b, const clarke_tensor *x, clarke_error *err)
{
  clarke_error local;
  clarke_status status = build(b, x, err != NULL ? err : &local);

  tdestroy(b->names, free_binding);
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_graph_is_valid(b->g));
  return status;
}

clarke_status
clarke_graph_build(clarke_graph *g, const clarke_model *m, const clarke_tensor *x, clarke_error *err)
{
  clarke_builder b = {.g = g, .m = m};

  return build_graph(&b, x, err);
}

clarke_status
clarke_graph_build_from(clarke_graph *g, clarke_model *m, const clarke_tensor *x, clarke_error *err)
{
  clarke_builder b = {.g = g, .m = m, .taken = m->tensors};

  return build_graph(&b, x, err);
}
