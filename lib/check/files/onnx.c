/* ONNX files: of onnx.proto only what the operators of docs/operators.md need. Numbers in comments are those of the
 * fields. What ONNX's checker refuses, and what would change the meaning of the rest, is refused. */
#include "check/files/onnx.h"
#include "check/base/allocate.h"
#include "check/files/bodies.h"
#include "check/files/protobuf.h"

#include <stdlib.h>
#include <string.h>

#define TRAINING "ai.onnx.preview.training" /* the domain of optimizers */

/* All bodies with that number, each read into an item of that size. */
static void *
list(bytes b, unsigned number, size_t size, void (*read)(void *, bytes), size_t *n)
{
  char *items = NULL;
  *n = 0;
  for (field f; next_of(&b, number, &f); ++*n) {
    items = grow(items, *n, size);
    read(items + *n * size, f.body);
  }
  return items;
}

/* Is x, as a number of 64 bits, one of the type? (An integer that is negative has all 64.) */
static bool
fits(const dtype *d, uint64_t x)
{
  uint64_t bits = 8 * d->width, high = x >> (bits - 1);
  bool complement = d->exponent == 0 && d->negative && d->part == 0; /* two's */
  return bits == 64 || (complement ? high == 0 || high == UINT64_MAX >> (bits - 1) : high < 2);
}

/* Appends the number's little-endian bytes. */
static void
append(bytes *all, uint64_t x, size_t width)
{
  for (size_t i = 0; i < width; i++, all->size++) {
    all->data = grow(all->data, all->size, 1);
    all->data[all->size] = (unsigned char)(x >> 8 * i);
  }
}

/* All numbers with that field number, packed or not, as they are stored raw. */
static bytes
numbers(bytes b, unsigned number, size_t type)
{
  bytes all = {NULL, 0};
  for (field f; next_of(&b, number, &f);) {
    bool raw = type == FLOAT || type == DOUBLE; /* in the field too */
    while (f.body.size > 0) {
      uint64_t x = raw ? *take(&f.body, 1).data : varint(&f.body);
      refuse_if(!raw && !fits(&dtypes[type], x), "the model holds a number out of its type's range");
      append(&all, x, raw ? 1 : dtypes[type].width);
    }
  }
  return all;
}

/* Is there anything in the field? Of repeated numbers none may be there, packed. */
static bool
holds(bytes b, unsigned number)
{
  bool some = false;
  for (field f; next_of(&b, number, &f);)
    some = some || f.wire != BODY || f.body.size > 0;
  return some;
}

/* As tensor_fill, but floats may be infinite or NaN, which are marked. */
static void
fill_any(tensor *t, size_t type, bytes data)
{
  const dtype *d = &dtypes[type];
  uint64_t top = (((uint64_t)1 << d->exponent) - 1) << d->fraction, sign = (uint64_t)1 << (8 * d->width - 1);
  tensor_hold(t, type, data);
  t->value = rationals(t->count);
  for (size_t i = 0; i < t->count; i++) {
    uint64_t x = 0;
    for (size_t k = t->real ? d->width : 0; k-- > 0;)
      x = x << 8 | data.data[i * d->width + k];
    if (!t->real || is_float8(type) || (x & top) != top) {
      tensor_entry(&t->value[i], t, i);
      continue;
    }
    if (t->odd == NULL)
      t->odd = allocate(t->count, 1);
    t->odd[i] = '?';
    if ((x & ~sign) == top)
      t->odd[i] = x == top ? '+' : '-';
  }
}

/* TensorProto: dims 1, data_type 2, string_data 6, name 8, raw_data 9, data_location 14; fields of numbers as in the
 * table of types: one of 4, 5, 7, 10, 11. */
static void
read_tensor(tensor *t, bytes b, bool packed)
{
  static const unsigned fields[] = {4, 5, 7, 10, 11};
  bytes dims = numbers(b, 1, INT64);
  uint64_t type = whole(b, 2);
  t->name = text(b, 8);
  refuse_if(type >= N_DTYPES || dtypes[type].width == 0, "tensor '%s' is of unsupported type %ju", t->name,
            (uintmax_t)type);
  refuse_if(whole(b, 14) != 0, "tensor '%s' is stored elsewhere, where the model's hash ends", t->name);
  t->rank = dims.size / 8;
  refuse_if(t->rank > MAX_RANK, "tensor '%s' has more than %d axes", t->name, MAX_RANK);
  for (size_t i = 0; i < dims.size; i++)
    t->dims[i / 8] |= (size_t)dims.data[i] << 8 * (i % 8);
  for (size_t i = 0; i < t->rank; i++)
    refuse_if(t->dims[i] > INT64_MAX, "tensor '%s' has a negative dimension", t->name);
  bool other = given(b, 6);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    other = other || (fields[i] != dtypes[type].field && holds(b, fields[i]));
  bytes data = numbers(b, dtypes[type].field, type);
  refuse_if(other, "tensor '%s' has data in a field of another type", t->name);
  refuse_if(data.size > 0 && given(b, 9), "tensor '%s' has two sets of data", t->name);
  (packed ? tensor_hold : fill_any)(t, type, given(b, 9) ? single(b, 9).body : data);
}

static void
read_named(void *item, bytes b, bool packed)
{
  tensor *t = *(tensor **)item = allocate(1, sizeof *t);
  read_tensor(t, b, packed);
  refuse_if(*t->name == '\0', "an initializer has no name");
  t->initializer = true;
}

static void
read_initializer(void *item, bytes b)
{
  read_named(item, b, false);
}

static void
read_packed(void *item, bytes b)
{
  read_named(item, b, true);
}

/* The number of an attribute that has one, 0 if it is not there, or the numbers. */
static void
read_numbers(tensor *t, bytes b, unsigned number, size_t type, bool several)
{
  unsigned char nought[8] = {0};
  bytes data = numbers(b, number, type);
  if (!several && data.size == 0)
    data = (bytes){nought, dtypes[type].width};
  t->rank = several;
  t->dims[0] = data.size / dtypes[type].width;
  tensor_fill(t, type, data);
}

/* A list of words, none empty or with a space: one text, a space between two. */
static char *
words(bytes b, const char *name)
{
  bytes all = {NULL, 0};
  for (field f; next_of(&b, 9, &f);) {
    refuse_if(!is_text(f.body) || f.body.size == 0 || memchr(f.body.data, ' ', f.body.size) != NULL,
              "attribute '%s' holds strings that are no words", name);
    if (all.size > 0)
      append(&all, ' ', 1);
    for (size_t i = 0; i < f.body.size; i++)
      append(&all, f.body.data[i], 1);
  }
  return copy_text(all.data, all.size);
}

/* AttributeProto: name 1, f 2, i 3, s 4, t 5, floats 7, ints 8, strings 9, type 20 (FLOAT 1, INT 2, STRING 3,
 * TENSOR 4, FLOATS 6, INTS 7, STRINGS 8). */
static void
read_attribute(tensor *t, bytes b)
{
  static const unsigned fields[] = {[1] = 2, [2] = 3, [3] = 4, [4] = 5, [6] = 7, [7] = 8, [8] = 9};
  uint64_t type = whole(b, 20);
  char *name = text(b, 1);
  t->name = name;
  refuse_if(type >= sizeof fields / sizeof *fields || fields[type] == 0, "attribute '%s' is of an unsupported type",
            name);
  for (unsigned i = 2; i <= 9; i++)
    refuse_if(i != fields[type] && (i < 7 || i == 9 ? given(b, i) : holds(b, i)),
              "attribute '%s' holds what is not of its type", name);
  if (type == 3) {
    t->text = text(b, 4);
  } else if (type == 8) {
    t->text = words(b, name);
    t->rank = 1;
  } else if (type == 4) {
    refuse_if(!given(b, 5), "attribute '%s' has no tensor", name);
    read_tensor(t, single(b, 5).body, false);
    t->of_tensor = true;
    t->name = name;
  } else {
    read_numbers(t, b, fields[type], type == 1 || type == 6 ? FLOAT : INT64, type > 5);
  }
}

static void
read_name(void *item, bytes b)
{
  refuse_if(!is_text(b), "a name is no text: UTF-8 without control characters");
  *(char **)item = copy_text(b.data, b.size);
}

static void read_within(void *item, bytes b);
static void read_node(void *item, bytes b);

/* GraphProto, as one of an attribute (name 1, g 6): its initializers are read with the model's. */
static void
read_body(void *item, bytes b)
{
  body *g = item;
  g->name = text(b, 1);
  refuse_if(!given(b, 6), "attribute '%s' has no graph", g->name);
  for (unsigned i = 2; i <= 9; i++)
    refuse_if(i != 6 && given(b, i), "attribute '%s' holds what is not of its type", g->name);
  g->message = single(b, 6).body;
  g->nodes = list(g->message, 1, sizeof *g->nodes, read_node, &g->n_nodes);
  g->inputs = list(g->message, 11, sizeof *g->inputs, read_within, &g->n_inputs);
  g->outputs = list(g->message, 12, sizeof *g->outputs, read_within, &g->n_outputs);
  for (size_t i = 0; i < g->n_inputs + g->n_outputs; i++)
    refuse_if(*(i < g->n_inputs ? &g->inputs[i] : &g->outputs[i - g->n_inputs])->name == '\0',
              "an input or output of graph '%s' has no name", g->name);
}

/* Attributes, those that are graphs (type 5) apart. */
static void
read_attributes(node *n, bytes b)
{
  for (field f; next_of(&b, 5, &f);)
    if (whole(f.body, 20) == 5) {
      n->bodies = grow(n->bodies, n->n_bodies, sizeof *n->bodies);
      read_body(&n->bodies[n->n_bodies++], f.body);
    } else {
      n->attributes = grow(n->attributes, n->n_attributes, sizeof *n->attributes);
      read_attribute(&n->attributes[n->n_attributes++], f.body);
    }
}

/* NodeProto: input 1, output 2, name 3, op_type 4, attribute 5, domain 7, overload 8. */
static void
read_node(void *item, bytes b)
{
  node *n = item;
  char *domain = text(b, 7);
  n->op = text(b, 4);
  n->name = text(b, 3);
  n->in = list(b, 1, sizeof *n->in, read_name, &n->n_in);
  n->out = list(b, 2, sizeof *n->out, read_name, &n->n_out);
  read_attributes(n, b);
  n->own = strcmp(domain, "clarke") == 0;
  n->training = strcmp(domain, TRAINING) == 0;
  n->qonnx = strcmp(domain, "qonnx.custom_op.general") == 0 || strcmp(domain, "onnx.brevitas") == 0
             || strcmp(domain, "finn.custom_op.general") == 0;
  n->runtime = strcmp(domain, "com.microsoft") == 0;
  n->learning = strcmp(domain, "ai.onnx.ml") == 0 && strcmp(n->op, "Scaler") == 0;
  bool optimizer = strcmp(n->op, "Adagrad") == 0 || strcmp(n->op, "Adam") == 0 || strcmp(n->op, "Momentum") == 0;
  refuse_if(n->training && !optimizer, "node '%s' (%s) is of the domain of optimizers, and none that is known", n->name,
            n->op);
  bool known = *domain == '\0' || n->own || n->training || n->qonnx || n->runtime || n->learning;
  refuse_if(!known || *text(b, 8) != '\0', "node '%s' (%s) is overloaded, or of domain '%s'", n->name, n->op, domain);
  name_index attributes = {0};
  for (size_t i = 0; i < n->n_attributes; i++)
    expect(name_add(&attributes, n->attributes[i].name), "node '%s' (%s) has attribute '%s' twice", n->name, n->op,
           n->attributes[i].name);
  for (size_t i = 0; i < n->n_bodies; i++)
    expect(name_add(&attributes, n->bodies[i].name), "node '%s' (%s) has attribute '%s' twice", n->name, n->op,
           n->bodies[i].name);
  name_index_free(&attributes);
}

/* dim_value 1, dim_param 2. A value of -1 is none, as PaddlePaddle writes it. */
static void
read_dim(void *item, bytes b)
{
  int64_t size = (int64_t)whole(b, 1);
  refuse_if(given(b, 1) && (given(b, 2) || (size < 1 && size != -1)),
            "a dimension has both a value and a name, or is less than 1");
  *(size_t *)item = size == -1 ? 0 : (size_t)size;
}

/* ValueInfoProto: name 1, type 2 { tensor_type 1 { elem_type 1, shape 2 { dim 1 } } }. */
static void
read_port(void *item, bytes b)
{
  port *p = item;
  bytes type = single(single(b, 2).body, 1).body, shape = single(type, 2).body;
  uint64_t element = whole(type, 1);
  p->name = text(b, 1);
  p->type = (size_t)element;
  p->shaped = given(type, 2);
  p->dims = list(shape, 1, sizeof *p->dims, read_dim, &p->rank);
  refuse_if(*p->name == '\0' || element >= N_DTYPES || dtypes[element].width == 0 || is_float8(element),
            "input or output '%s' is no tensor of a supported type, or has no name", p->name);
  refuse_if(p->rank > MAX_RANK, "'%s' has more than %d axes", p->name, MAX_RANK);
}

/* The same of a value within, of which what no tensor here can have says nothing. */
static void
read_within_dim(void *item, bytes b)
{
  int64_t size = given(b, 2) ? 0 : (int64_t)whole(b, 1);
  *(size_t *)item = size > 0 ? (size_t)size : 0;
}

static void
read_within(void *item, bytes b)
{
  port *p = item;
  bytes type = single(single(b, 2).body, 1).body, shape = single(type, 2).body;
  uint64_t element = whole(type, 1);
  p->name = text(b, 1);
  p->type = element < N_DTYPES && dtypes[element].width > 0 ? (size_t)element : 0;
  p->dims = list(shape, 1, sizeof *p->dims, read_within_dim, &p->rank);
  p->shaped = given(type, 2) && p->rank <= MAX_RANK;
}

/* StringStringEntryProto: key 1. */
static void
read_key(void *item, bytes b)
{
  *(bytes *)item = single(b, 1).body;
}

static int
by_bytes(const void *a, const void *b)
{
  const bytes *x = a, *y = b;
  size_t least = x->size < y->size ? x->size : y->size;
  int order = least > 0 ? memcmp(x->data, y->data, least) : 0;
  return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

static void
check_once(bytes *all, size_t n, const char *what)
{
  if (n > 0)
    qsort(all, n, sizeof *all, by_bytes);
  for (size_t i = 1; i < n; i++)
    refuse_if(by_bytes(&all[i - 1], &all[i]) == 0, "%s '%.*s' twice", what, (int)all[i].size, (char *)all[i].data);
}

/* Each name has one value: an initializer's, which may also be listed among the inputs, an input's, or a node's. */
static void
check_names(model *m, bool listed)
{
  name_index values = {0};
  for (size_t i = 0; i < m->n_inputs; i++)
    expect(name_add(&m->ports, m->inputs[i].name), "the model has input '%s' twice", m->inputs[i].name);
  for (size_t i = 0; i < m->n_tensors; i++) {
    char *name = m->tensors[i]->name;
    expect(name_add(&m->initializers, name), "the model has initializer '%s' twice", name);
    expect(!listed || name_find(&m->ports, name) != NONE, "initializer '%s' is no input, as IR version 3 wants it",
           name);
    name_add(&values, name);
  }
  for (size_t i = 0; i < m->n_inputs; i++)
    name_add(&values, m->inputs[i].name);
  for (size_t i = 0; i < m->n_nodes; i++)
    for (size_t j = 0; j < m->nodes[i].n_out; j++)
      if (*m->nodes[i].out[j] != '\0')
        expect(name_add(&values, m->nodes[i].out[j]), "the model defines '%s' twice", m->nodes[i].out[j]);
  names_within(&values, m->nodes, m->n_nodes);
  name_index_free(&values);
}

/* Nodes of optimizers alone, of the operator set of theirs that there is. */
static bool
only_trains(const model *m, uint64_t training)
{
  bool all = training == 1 && m->n_nodes > 0;
  for (size_t i = 0; i < m->n_nodes; i++)
    all = all && m->nodes[i].training;
  return all;
}

static bool
trains(const node *nodes, size_t n)
{
  bool any = false;
  for (size_t i = 0; i < n && !any; i++) {
    any = nodes[i].training;
    for (size_t g = 0; g < nodes[i].n_bodies; g++)
      any = any || trains(nodes[i].bodies[g].nodes, nodes[i].bodies[g].n_nodes);
  }
  return any;
}

/* OperatorSetIdProto: domain 1, version 2. Of the operators' own domain there is one, which may be named again, but where all nodes are optimizers; others do
 * not matter. */
static uint64_t
read_opset(const model *m, bytes file)
{
  uint64_t opset = 0, found = 0, training = 0;
  for (field f; next_of(&file, 8, &f);) {
    char *domain = text(f.body, 1);
    if (strcmp(domain, TRAINING) == 0) {
      refuse_if(training != 0, "the model names two versions of optimizers");
      training = whole(f.body, 2);
    }
    if (*domain != '\0' && strcmp(domain, "ai.onnx") != 0)
      continue;
    refuse_if(found++ > 0 && opset != whole(f.body, 2), "the model names two versions of the operators");
    opset = whole(f.body, 2);
  }
  refuse_if(training != 1 && trains(m->nodes, m->n_nodes), "the model does not name version 1 of its optimizers");
  if (found == 0 && only_trains(m, training))
    return 24;
  refuse_if(opset < 7 || opset > 28, "operators of version %ju; supported are 7 to 28", (uintmax_t)opset);
  return opset;
}

bool
onnx_promote(model *m, node *n)
{
  const tensor *t = n->attributes;
  if (n->own || strcmp(n->op, "Constant") != 0 || n->n_out != 1 || n->n_attributes != 1 || t->value == NULL || !t->real)
    return false;
  tensor *own = allocate(1, sizeof *own);
  *own = *t;
  own->name = n->out[0];
  own->of_tensor = false;
  own->initializer = own->of_node = n->promoted = true;
  m->tensors = grow(m->tensors, m->n_tensors, sizeof *m->tensors);
  m->tensors[m->n_tensors++] = own;
  return name_add(&m->initializers, own->name);
}

static bool
is_recorded(bytes producer)
{
  static const char recorder[] = "clarke.record";
  return producer.size == sizeof recorder - 1 && memcmp(producer.data, recorder, producer.size) == 0;
}

bool
is_initializer(const model *m, const char *name)
{
  return name_find(&m->initializers, name) != NONE;
}

bool
is_read(const model *m, const char *name)
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

/* ModelProto: ir_version 1, producer_name 2, graph 7, opset_import 8, metadata_props 14. GraphProto: node 1, name 2,
 * initializer 5, input 11, output 12, value_info 13. */
static void
read_model(model *m, bytes file, void (*initializer)(void *item, bytes b))
{
  size_t n;
  *m = (model){0};
  protobuf_check(file);
  uint64_t version = whole(file, 1);
  refuse_if(version < 3 || version > 14, "IR version %ju; supported are 3 to 14", (uintmax_t)version);
  bytes graph = single(file, 7).body, *keys = list(file, 14, sizeof *keys, read_key, &n);
  check_once(keys, n, "the model's metadata has key");
  refuse_if(single(graph, 2).body.size == 0, "the model's graph is missing or has no name");
  m->nodes = list(graph, 1, sizeof *m->nodes, read_node, &m->n_nodes);
  m->opset = read_opset(m, file);
  for (size_t i = 0; i < m->n_nodes; i++)
    m->nodes[i].place = i;
  m->tensors = list(graph, 5, sizeof *m->tensors, initializer, &m->n_tensors);
  m->inputs = list(graph, 11, sizeof *m->inputs, read_port, &m->n_inputs);
  m->outputs = list(graph, 12, sizeof *m->outputs, read_port, &m->n_outputs);
  m->declared = list(graph, 13, sizeof *m->declared, read_within, &m->n_declared);
  check_names(m, version == 3);
  size_t own = m->n_tensors;
  hoist_initializers(&m->tensors, &m->n_tensors, m->nodes, m->n_nodes, initializer);
  for (size_t i = own; i < m->n_tensors; i++)
    name_add(&m->initializers, m->tensors[i]->name);
  for (size_t i = 0; i < m->n_nodes; i++)
    add_outer_inputs(&m->nodes[i]);
}

void
onnx_read(model *m, bytes file)
{
  read_model(m, file, read_initializer);
}

void
onnx_read_packed(model *m, bytes file)
{
  read_model(m, file, read_packed);
}

bool
onnx_read_step(model *m, bytes file)
{
  read_model(m, file, read_initializer);
  bool recorded = is_recorded(single(file, 2).body);
  for (size_t i = 0; i < m->n_nodes; i++)
    refuse_if(recorded && m->nodes[i].n_bodies > 0, "a recorded step has a node that holds a graph");
  return recorded;
}
