/* The protocol buffers' wire format, and the messages of onnx.proto: what may stand in a model. */
#include "check/files/protobuf.h"
#include "check/base/allocate.h"

#include <string.h>

/* What a field holds: numbers, text or bytes, or a message. */
typedef enum {
  INTEGER,
  REAL,
  LONG_REAL,
  DATA,
  MODEL,
  GRAPH,
  NODE,
  ATTRIBUTE,
  TENSOR,
  VALUE_INFO,
  TYPE,
  TENSOR_TYPE,
  SHAPE,
  DIMENSION,
  OPERATOR_SET,
  ENTRY,
  ANNOTATION,
} content;

static const char *const names[] = {
    [MODEL] = "ModelProto",
    [GRAPH] = "GraphProto",
    [NODE] = "NodeProto",
    [ATTRIBUTE] = "AttributeProto",
    [TENSOR] = "TensorProto",
    [VALUE_INFO] = "ValueInfoProto",
    [TYPE] = "TypeProto",
    [TENSOR_TYPE] = "TypeProto.Tensor",
    [SHAPE] = "TensorShapeProto",
    [DIMENSION] = "TensorShapeProto.Dimension",
    [OPERATOR_SET] = "OperatorSetIdProto",
    [ENTRY] = "StringStringEntryProto",
    [ANNOTATION] = "TensorAnnotation",
};

/* The fields of onnx.proto. Left out, and so refused: functions, training information, sparse tensors, attributes of
 * other kinds than numbers, text, a tensor and a graph, other types than a tensor's, data in segments or in other files,
 * placement on devices. Only graphs hold themselves: in an attribute of a node. */
static const struct {
  content in;
  unsigned number;
  enum { ONCE, MANY } times;
  content content;
} fields[] = {
    {MODEL, 1, ONCE, INTEGER},
    {MODEL, 2, ONCE, DATA},
    {MODEL, 3, ONCE, DATA},
    {MODEL, 4, ONCE, DATA},
    {MODEL, 5, ONCE, INTEGER},
    {MODEL, 6, ONCE, DATA},
    {MODEL, 7, ONCE, GRAPH},
    {MODEL, 8, MANY, OPERATOR_SET},
    {MODEL, 14, MANY, ENTRY},
    {GRAPH, 1, MANY, NODE},
    {GRAPH, 2, ONCE, DATA},
    {GRAPH, 5, MANY, TENSOR},
    {GRAPH, 10, ONCE, DATA},
    {GRAPH, 11, MANY, VALUE_INFO},
    {GRAPH, 12, MANY, VALUE_INFO},
    {GRAPH, 13, MANY, VALUE_INFO},
    {GRAPH, 14, MANY, ANNOTATION},
    {GRAPH, 16, MANY, ENTRY},
    {NODE, 1, MANY, DATA},
    {NODE, 2, MANY, DATA},
    {NODE, 3, ONCE, DATA},
    {NODE, 4, ONCE, DATA},
    {NODE, 5, MANY, ATTRIBUTE},
    {NODE, 6, ONCE, DATA},
    {NODE, 7, ONCE, DATA},
    {NODE, 8, ONCE, DATA},
    {NODE, 9, MANY, ENTRY},
    {ATTRIBUTE, 1, ONCE, DATA},
    {ATTRIBUTE, 2, ONCE, REAL},
    {ATTRIBUTE, 3, ONCE, INTEGER},
    {ATTRIBUTE, 4, ONCE, DATA},
    {ATTRIBUTE, 5, ONCE, TENSOR},
    {ATTRIBUTE, 7, MANY, REAL},
    {ATTRIBUTE, 8, MANY, INTEGER},
    {ATTRIBUTE, 9, MANY, DATA},
    {ATTRIBUTE, 13, ONCE, DATA},
    {ATTRIBUTE, 20, ONCE, INTEGER},
    {ATTRIBUTE, 6, ONCE, GRAPH},
    {TENSOR, 1, MANY, INTEGER},
    {TENSOR, 2, ONCE, INTEGER},
    {TENSOR, 4, MANY, REAL},
    {TENSOR, 5, MANY, INTEGER},
    {TENSOR, 6, MANY, DATA},
    {TENSOR, 7, MANY, INTEGER},
    {TENSOR, 8, ONCE, DATA},
    {TENSOR, 9, ONCE, DATA},
    {TENSOR, 10, MANY, LONG_REAL},
    {TENSOR, 11, MANY, INTEGER},
    {TENSOR, 12, ONCE, DATA},
    {TENSOR, 14, ONCE, INTEGER},
    {TENSOR, 16, MANY, ENTRY},
    {VALUE_INFO, 1, ONCE, DATA},
    {VALUE_INFO, 2, ONCE, TYPE},
    {VALUE_INFO, 3, ONCE, DATA},
    {VALUE_INFO, 4, MANY, ENTRY},
    {TYPE, 1, ONCE, TENSOR_TYPE},
    {TYPE, 6, ONCE, DATA},
    {TENSOR_TYPE, 1, ONCE, INTEGER},
    {TENSOR_TYPE, 2, ONCE, SHAPE},
    {SHAPE, 1, MANY, DIMENSION},
    {DIMENSION, 1, ONCE, INTEGER},
    {DIMENSION, 2, ONCE, DATA},
    {DIMENSION, 3, ONCE, DATA},
    {OPERATOR_SET, 1, ONCE, DATA},
    {OPERATOR_SET, 2, ONCE, INTEGER},
    {ENTRY, 1, ONCE, DATA},
    {ENTRY, 2, ONCE, DATA},
    {ANNOTATION, 1, ONCE, DATA},
    {ANNOTATION, 2, MANY, ENTRY},
};
#define N_FIELDS (sizeof fields / sizeof *fields)

uint64_t
varint(bytes *b)
{
  uint64_t x = 0;
  for (unsigned shift = 0; shift < 64 && b->size > 0; shift += 7) {
    unsigned char c = *take(b, 1).data;
    if (c == 0 && shift > 0)
      break;
    x |= (uint64_t)(c & 0x7f) << shift;
    if (c < 0x80 && (shift < 63 || c < 2))
      return x;
  }
  leave(REFUSED, "the model is cut off, or holds a number of more than 64 bits, or in more bytes than it takes");
}

/* The next field of a message that is not at its end. */
static field
next_field(bytes *b)
{
  uint64_t key = varint(b);
  field f = {(unsigned)(key >> 3), (unsigned)(key & 7), *b};
  refuse_if(key >> 32 != 0 || f.number == 0 || (f.wire > BODY && f.wire != FOUR), "the model is no protocol buffer");
  if (f.wire == VARINT)
    varint(b);
  else
    f.body = take(b, f.wire == EIGHT ? 8 : f.wire == FOUR ? 4 : varint(b));
  if (f.wire == VARINT)
    f.body.size -= b->size;
  return f;
}

/* Numbers, one after another, without a length each. */
static void
check_packed(bytes b, content type)
{
  refuse_if(type == REAL ? b.size % 4 != 0 : type == LONG_REAL && b.size % 8 != 0,
            "the model's packed numbers are cut off");
  while (type == INTEGER && b.size > 0)
    varint(&b);
}

/* graphs: how many the message lies in. */
#define MOST_GRAPHS 9

static void
check_message(bytes b, content message, size_t graphs)
{
  static const unsigned wires[] = {[INTEGER] = VARINT, [REAL] = FOUR, [LONG_REAL] = EIGHT};
  bool seen[64] = {false};
  while (b.size > 0) {
    field f = next_field(&b);
    size_t i = 0;
    while (i < N_FIELDS && (fields[i].in != message || fields[i].number != f.number))
      i++;
    refuse_if(i == N_FIELDS, "the model has a %s with a field %u, which is not supported", names[message], f.number);
    content type = fields[i].content;
    bool packed = type < DATA && fields[i].times == MANY && f.wire == BODY;
    refuse_if(!packed && f.wire != (type < DATA ? wires[type] : BODY),
              "the model has a %s whose field %u is of another type", names[message], f.number);
    refuse_if(fields[i].times == ONCE && seen[f.number], "the model has a %s whose field %u is given twice",
              names[message], f.number);
    seen[f.number] = true;
    if (packed)
      check_packed(f.body, type);
    refuse_if(type == GRAPH && graphs == MOST_GRAPHS, "the model has more than %d graphs in one another",
              MOST_GRAPHS - 1);
    if (type > DATA)
      check_message(f.body, type, graphs + (type == GRAPH));
  }
}

void
protobuf_check(bytes file)
{
  check_message(file, MODEL, 0);
}

bool
next_of(bytes *b, unsigned number, field *f)
{
  while (b->size > 0) {
    *f = next_field(b);
    if (f->number == number)
      return true;
  }
  return false;
}

field
single(bytes b, unsigned number)
{
  field f = {0, 0, {NULL, 0}};
  return next_of(&b, number, &f) ? f : (field){0, 0, {NULL, 0}};
}

bool
given(bytes b, unsigned number)
{
  return single(b, number).number != 0;
}

uint64_t
whole(bytes b, unsigned number)
{
  bytes body = single(b, number).body;
  return body.size > 0 ? varint(&body) : 0;
}

char *
text(bytes b, unsigned number)
{
  bytes body = single(b, number).body;
  refuse_if(!is_text(body), "the model's field %u is no text: UTF-8 without control characters", number);
  return copy_text(body.data, body.size);
}
