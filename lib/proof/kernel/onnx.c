/* ONNX files, by the protocol buffers' wire format: of onnx.proto only what the operators of
 * docs/operators.md need. Numbers in comments are those of the fields. What would change the
 * meaning of these is refused. */
#include "kernel.h"

#include <string.h>

typedef struct {
  unsigned number, wire;
  uint64_t value; /* wire type 0 */
  bytes body;     /* wire types 1, 2, 5 */
} field;

static uint64_t varint(bytes *b) {
  uint64_t x = 0;
  for (unsigned shift = 0; shift < 64 && b->size > 0; shift += 7) {
    unsigned char c = *b->data++;
    b->size--; x |= (uint64_t)(c & 0x7f) << shift;
    if (c < 0x80) return x;
  }
  leave(REFUSED, "the model is cut off, or holds a number of more than 64 bits");
}

/* The next field of a message with that number (0: any); false at its end. */
static bool next_field(bytes *b, unsigned number, field *f) {
  while (b->size > 0) {
    uint64_t key = varint(b), length;
    *f = (field){(unsigned)(key >> 3), (unsigned)(key & 7), 0, {b->data, 0}};
    refuse_if(key >> 32 != 0 || (f->wire > 2 && f->wire != 5), "the model is no protocol buffer");
    if (f->wire == 0) f->value = varint(b);
    length = f->wire == 1 ? 8 : f->wire == 5 ? 4 : f->wire == 2 ? varint(b) : 0;
    refuse_if(length > b->size, "the model is cut off");
    f->body = (bytes){b->data, length};
    *b = (bytes){b->data + length, b->size - length};
    if (number == 0 || f->number == number) return true;
  }
  return false;
}

/* The next message or string with that number. */
static bool next_body(bytes *b, unsigned number, bytes *body) {
  field f;
  if (!next_field(b, number, &f)) return false;
  refuse_if(f.wire != 2, "the model's field %u is of another type", number);
  *body = f.body;
  return true;
}

/* The last string with that number; "" when there is none. */
static char *text(bytes b, unsigned number) {
  bytes body = {NULL, 0};
  while (next_body(&b, number, &body)) {}
  return copy_text(body.data, body.size);
}

static char **texts(bytes b, unsigned number, size_t *n) {
  char **list = NULL;
  for (bytes body; next_body(&b, number, &body); (*n)++) {
    list = grow(list, *n, sizeof *list); list[*n] = copy_text(body.data, body.size);
  }
  return list;
}

/* The last integer with that number; 0 when there is none. */
static uint64_t whole(bytes b, unsigned number) {
  uint64_t value = 0;
  for (field f; next_field(&b, number, &f); value = f.value)
    refuse_if(f.wire != 0, "the model's field %u is of another type", number);
  return value;
}

/* All numbers with that number, packed or not, as little-endian numbers of that width. */
static bytes numbers(bytes b, unsigned number, size_t width, bool real) {
  bytes all = {NULL, 0};
  for (field f; next_field(&b, number, &f);) {
    bool raw = f.wire == 1 || f.wire == 5 || (f.wire == 2 && real);
    for (bool first = true; f.body.size > 0 || (f.wire == 0 && first); first = false) {
      uint64_t x = f.wire == 0 ? f.value : raw ? *f.body.data : varint(&f.body);
      for (size_t i = 0; i < (raw ? 1 : width); i++, all.size++) {
        all.data = grow(all.data, all.size, 1);
        all.data[all.size] = (unsigned char)(x >> 8 * i);
      }
      if (raw) f.body = (bytes){f.body.data + 1, f.body.size - 1};
    }
  }
  return all;
}

/* TensorProto: dims 1, data_type 2, segment 3, float_data 4, int32_data 5, int64_data 7, name 8,
 * raw_data 9, double_data 10, uint64_data 11, external_data 13, data_location 14. */
static tensor *read_tensor(bytes b) {
  static const int types[] = {-1, F32, U8, I8, U16, I16, I32, I64, -1, BOOL, F16, F64, U32, U64,
                              -1, -1, BF16};
  static const unsigned typed[] = {[F16] = 5, [BF16] = 5, [F32] = 4, [F64] = 10, [I8] = 5,
    [I16] = 5, [I32] = 5, [I64] = 7, [U8] = 5, [U16] = 5, [U32] = 11, [U64] = 11, [BOOL] = 5};
  tensor *t = allocate(1, sizeof *t);
  bytes body, dims = numbers(b, 1, 8, false), data = {NULL, 0};
  uint64_t type = whole(b, 2);
  field f;
  t->name = text(b, 8);
  refuse_if(type >= sizeof types / sizeof *types || types[type] < 0,
            "tensor '%s' is of unsupported type %ju", t->name, (uintmax_t)type);
  if (whole(b, 14) != 0 || next_field(&(bytes){b.data, b.size}, 13, &f)
      || next_field(&(bytes){b.data, b.size}, 3, &f))
    leave(REFUSED, "tensor '%s' is stored elsewhere, where the model's hash ends", t->name);
  dtype d = (dtype)types[type];
  t->rank = dims.size / 8;
  refuse_if(t->rank > MAX_RANK, "tensor '%s' has more than %d axes", t->name, MAX_RANK);
  for (size_t i = 0; i < dims.size; i++) t->dims[i / 8] |= (size_t)dims.data[i] << 8 * (i % 8);
  for (bytes rest = b; next_body(&rest, 9, &body);) data = body;
  bytes other = numbers(b, typed[d], dtype_width(d), d == F32 || d == F64);
  refuse_if(data.size > 0 && other.size > 0, "tensor '%s' has two sets of data", t->name);
  data = data.size > 0 ? data : other; tensor_fill(t, d, data);
  return t;
}

/* AttributeProto: name 1, f 2, i 3, s 4, t 5, floats 7, ints 8, type 20 (FLOAT 1, INT 2, STRING 3,
 * TENSOR 4, FLOATS 6, INTS 7), ref_attr_name 21. */
static attribute read_attribute(bytes b) {
  static const unsigned number[] = {[1] = 2, [2] = 3, [6] = 7, [7] = 8};
  attribute a = {text(b, 1), NULL};
  uint64_t type = whole(b, 20);
  bytes body;
  if (type == 4) {
    while (next_body(&b, 5, &body)) a.t = read_tensor(body);
  } else if (type == 1 || type == 2 || type == 6 || type == 7) {
    bool real = type == 1 || type == 6;
    bytes data = numbers(b, number[type], real ? 4 : 8, real);
    a.t = allocate(1, sizeof *a.t); a.t->name = a.name; a.t->rank = type > 2;
    a.t->dims[0] = data.size / (real ? 4 : 8);
    tensor_fill(a.t, real ? F32 : I64, data);
  }
  refuse_if((a.t == NULL && type != 3) || *text(b, 21) != '\0',
            "attribute '%s' is of an unsupported type", a.name);
  return a;
}

/* NodeProto: input 1, output 2, name 3, op_type 4, attribute 5, domain 7, overload 8. */
static node read_node(bytes b) {
  node n = {text(b, 4), text(b, 3), NULL, NULL, 0, 0, 0, NULL};
  char *domain = text(b, 7);
  n.in = texts(b, 1, &n.n_in); n.out = texts(b, 2, &n.n_out);
  refuse_if(strcmp(domain, "") != 0 && strcmp(domain, "ai.onnx") != 0,
            "node '%s' (%s) is of domain '%s', which is not supported", n.name, n.op, domain);
  refuse_if(*text(b, 8) != '\0', "node '%s' (%s) is overloaded", n.name, n.op);
  for (bytes body; next_body(&b, 5, &body);) {
    n.attributes = grow(n.attributes, n.n_attributes, sizeof *n.attributes);
    n.attributes[n.n_attributes++] = read_attribute(body);
  }
  return n;
}

/* ValueInfoProto: name 1, type 2 { tensor_type 1 { shape 2 { dim 1 { dim_value 1 } } } }. */
static port *read_ports(bytes graph, unsigned number, size_t *n) {
  port *ports = NULL;
  bytes b, type, tensor_type, shape, dim;
  for (; next_body(&graph, number, &b); (*n)++) {
    ports = grow(ports, *n, sizeof *ports); port *p = &ports[*n];
    p->name = text(b, 1);
    if (!next_body(&b, 2, &type) || !next_body(&type, 1, &tensor_type)
        || !next_body(&tensor_type, 2, &shape))
      continue;
    for (p->shaped = true; next_body(&shape, 1, &dim); p->rank++) {
      refuse_if(p->rank == MAX_RANK, "'%s' has more than %d axes", p->name, MAX_RANK);
      int64_t size = (int64_t)whole(dim, 1);
      p->dims[p->rank] = size > 0 ? (size_t)size : 0;
    }
  }
  return ports;
}

/* ModelProto: graph 7, opset_import 8 { domain 1, version 2 }, functions 25. GraphProto: node 1,
 * initializer 5, input 11, output 12, sparse_initializer 15. */
void onnx_read(model *m, bytes file) {
  bytes b, body, graph = {NULL, 0};
  field f;
  *m = (model){0, 0, 0, 0, 0, NULL, NULL, NULL, NULL};
  for (b = file; next_body(&b, 8, &body);)
    if (*text(body, 1) == '\0' || strcmp(text(body, 1), "ai.onnx") == 0) {
      refuse_if(m->opset != 0, "the model names two versions of the operators");
      m->opset = whole(body, 2);
    }
  if (m->opset < 7 || m->opset > 25)
    leave(REFUSED, "operators of version %ju; supported are 7 to 25", (uintmax_t)m->opset);
  for (b = file; next_body(&b, 7, &body); graph = body)
    refuse_if(graph.data != NULL, "the model holds two graphs");
  if (next_field(&(bytes){file.data, file.size}, 25, &f)
      || next_field(&(bytes){graph.data, graph.size}, 15, &f))
    leave(REFUSED, "the model holds functions or sparse tensors");
  for (b = graph; next_body(&b, 1, &body);) {
    m->nodes = grow(m->nodes, m->n_nodes, sizeof *m->nodes);
    m->nodes[m->n_nodes++] = read_node(body);
  }
  for (b = graph; next_body(&b, 5, &body);) {
    m->tensors = grow(m->tensors, m->n_tensors, sizeof *m->tensors);
    m->tensors[m->n_tensors] = read_tensor(body);
    m->tensors[m->n_tensors++]->initializer = true;
  }
  m->inputs = read_ports(graph, 11, &m->n_inputs);
  m->outputs = read_ports(graph, 12, &m->n_outputs);
}
