/* ONNX files, by the protocol buffers' wire format: of onnx.proto only what the operators of
 * docs/operators.md need. Numbers in comments are those of the fields. What would change the
 * meaning of these is refused. */
#include "kernel.h"

#include <string.h>

enum { VARINT = 0, EIGHT = 1, BODY = 2, FOUR = 5 }; /* wire types */

typedef struct {
  unsigned number, wire;
  bytes body; /* of a VARINT: its bytes */
} field;

static uint64_t
varint(bytes *b)
{
  uint64_t x = 0;
  for (unsigned shift = 0; shift < 64 && b->size > 0; shift += 7) {
    unsigned char c = *take(b, 1).data;
    x |= (uint64_t)(c & 0x7f) << shift;
    if (c < 0x80)
      return x;
  }
  leave(REFUSED, "the model is cut off, or holds a number of more than 64 bits");
}

/* The next field of a message with that number; false at its end. */
static bool
next_field(bytes *b, unsigned number, field *f)
{
  while (b->size > 0) {
    uint64_t key = varint(b);
    *f = (field){(unsigned)(key >> 3), (unsigned)(key & 7), *b};
    refuse_if(key >> 32 != 0 || (f->wire > BODY && f->wire != FOUR), "the model is no protocol buffer");
    if (f->wire == VARINT)
      varint(b);
    else
      f->body = take(b, f->wire == EIGHT ? 8 : f->wire == FOUR ? 4 : varint(b));
    if (f->wire == VARINT)
      f->body.size -= b->size;
    if (f->number == number)
      return true;
  }
  return false;
}

/* The last field with that number, which counts; nothing but zeros when there is none. */
static field
last(bytes b, unsigned number, unsigned wire)
{
  field found = {0, 0, {NULL, 0}};
  for (field f; next_field(&b, number, &f); found = f)
    refuse_if(f.wire != wire, "the model's field %u is of another type", number);
  return found;
}

static uint64_t
whole(bytes b, unsigned number)
{
  bytes body = last(b, number, VARINT).body;
  return body.size > 0 ? varint(&body) : 0;
}

static char *
text(bytes b, unsigned number)
{
  bytes body = last(b, number, BODY).body;
  return copy_text(body.data, body.size);
}

/* All bodies with that number, each read into an item of that size. */
static void *
list(bytes b, unsigned number, size_t size, void (*read)(void *, bytes), size_t *n)
{
  char *items = NULL;
  *n = 0;
  for (field f; next_field(&b, number, &f); ++*n) {
    refuse_if(f.wire != BODY, "the model's field %u is of another type", number);
    items = grow(items, *n, size);
    read(items + *n * size, f.body);
  }
  return items;
}

/* All numbers with that number, packed or not, as little-endian numbers of that width. */
static bytes
numbers(bytes b, unsigned number, size_t width, bool real)
{
  bytes all = {NULL, 0};
  for (field f; next_field(&b, number, &f);) {
    bool raw = f.wire == EIGHT || f.wire == FOUR || (f.wire == BODY && real);
    while (f.body.size > 0) {
      uint64_t x = raw ? *take(&f.body, 1).data : varint(&f.body);
      for (size_t i = 0; i < (raw ? 1 : width); i++, all.size++) {
        all.data = grow(all.data, all.size, 1);
        all.data[all.size] = (unsigned char)(x >> 8 * i);
      }
    }
  }
  return all;
}

/* TensorProto: dims 1, data_type 2, segment 3, name 8, raw_data 9, external_data 13,
 * data_location 14; fields of numbers as in the table of types. */
static void
read_tensor(void *item, bytes b)
{
  tensor *t = item;
  bytes dims = numbers(b, 1, 8, false), raw = last(b, 9, BODY).body;
  uint64_t type = whole(b, 2);
  t->name = text(b, 8);
  refuse_if(type >= N_DTYPES || dtypes[type].width == 0, "tensor '%s' is of unsupported type %ju", t->name,
            (uintmax_t)type);
  refuse_if(whole(b, 14) != 0 || last(b, 13, BODY).number != 0 || last(b, 3, BODY).number != 0,
            "tensor '%s' is stored elsewhere, where the model's hash ends", t->name);
  t->rank = dims.size / 8;
  refuse_if(t->rank > MAX_RANK, "tensor '%s' has more than %d axes", t->name, MAX_RANK);
  for (size_t i = 0; i < dims.size; i++)
    t->dims[i / 8] |= (size_t)dims.data[i] << 8 * (i % 8);
  bytes data = numbers(b, dtypes[type].field, dtypes[type].width, type == FLOAT || type == DOUBLE);
  refuse_if(data.size > 0 && raw.size > 0, "tensor '%s' has two sets of data", t->name);
  tensor_fill(t, type, raw.size > 0 ? raw : data);
}

static void
read_initializer(void *item, bytes b)
{
  tensor *t = *(tensor **)item = allocate(1, sizeof *t);
  read_tensor(t, b);
  t->initializer = true;
}

/* AttributeProto: name 1, f 2, i 3, s 4, t 5, floats 7, ints 8, type 20 (FLOAT 1, INT 2, STRING 3,
 * TENSOR 4, FLOATS 6, INTS 7), ref_attr_name 21. */
static void
read_attribute(void *item, bytes b)
{
  static const unsigned fields[] = {[1] = 2, [2] = 3, [6] = 7, [7] = 8};
  tensor *t = item;
  uint64_t type = whole(b, 20);
  t->name = text(b, 1);
  field inner = last(b, 5, BODY);
  if (type == 4 && inner.number != 0) {
    read_tensor(t, inner.body);
    t->of_tensor = true;
  } else if (type == 1 || type == 2 || type == 6 || type == 7) {
    bool real = type == 1 || type == 6;
    bytes data = numbers(b, fields[type], real ? 4 : 8, real);
    t->rank = type > 2;
    t->dims[0] = data.size / (real ? 4 : 8);
    tensor_fill(t, real ? FLOAT : INT64, data);
  }
  t->name = text(b, 1); /* not the tensor's */
  t->text = type == 3 ? text(b, 4) : NULL;
  refuse_if((t->value == NULL && type != 3) || *text(b, 21) != '\0', "attribute '%s' is of an unsupported type",
            t->name);
}

static void
read_name(void *item, bytes b)
{
  *(char **)item = copy_text(b.data, b.size);
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
  n->attributes = list(b, 5, sizeof *n->attributes, read_attribute, &n->n_attributes);
  refuse_if((strcmp(domain, "") != 0 && strcmp(domain, "ai.onnx") != 0) || *text(b, 8) != '\0',
            "node '%s' (%s) is overloaded, or of domain '%s'", n->name, n->op, domain);
}

static void
read_dim(void *item, bytes b)
{
  int64_t size = (int64_t)whole(b, 1);
  *(size_t *)item = size > 0 ? (size_t)size : 0;
}

/* ValueInfoProto: name 1, type 2 { tensor_type 1 { shape 2 { dim 1 { dim_value 1 } } } }. */
static void
read_port(void *item, bytes b)
{
  port *p = item;
  field shape = last(last(last(b, 2, BODY).body, 1, BODY).body, 2, BODY);
  p->name = text(b, 1);
  p->shaped = shape.number != 0;
  p->dims = list(shape.body, 1, sizeof *p->dims, read_dim, &p->rank);
  refuse_if(p->rank > MAX_RANK, "'%s' has more than %d axes", p->name, MAX_RANK);
}

/* ModelProto: graph 7, opset_import 8 { domain 1, version 2 }, functions 25. GraphProto: node 1,
 * initializer 5, input 11, output 12, sparse_initializer 15. */
void
onnx_read(model *m, bytes file)
{
  bytes rest = file, graph = {NULL, 0};
  *m = (model){0, 0, 0, 0, 0, NULL, NULL, NULL, NULL};
  for (field f; next_field(&rest, 8, &f);) {
    if (*text(f.body, 1) != '\0' && strcmp(text(f.body, 1), "ai.onnx") != 0)
      continue;
    refuse_if(m->opset != 0, "the model names two versions of the operators");
    m->opset = whole(f.body, 2);
  }
  refuse_if(m->opset < 7 || m->opset > 25, "operators of version %ju; supported are 7 to 25", (uintmax_t)m->opset);
  rest = file;
  for (field f; next_field(&rest, 7, &f); graph = f.body)
    refuse_if(graph.data != NULL || f.wire != BODY, "the model holds two graphs");
  refuse_if(last(file, 25, BODY).number != 0 || last(graph, 15, BODY).number != 0,
            "the model holds functions or sparse tensors");
  m->nodes = list(graph, 1, sizeof *m->nodes, read_node, &m->n_nodes);
  m->tensors = list(graph, 5, sizeof *m->tensors, read_initializer, &m->n_tensors);
  m->inputs = list(graph, 11, sizeof *m->inputs, read_port, &m->n_inputs);
  m->outputs = list(graph, 12, sizeof *m->outputs, read_port, &m->n_outputs);
}
