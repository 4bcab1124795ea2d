/* ONNX models: the protobuf message as a tree of fields. */
#include "mutate.h"

#include <stdlib.h>
#include <string.h>

enum { VARINT = 0, EIGHT = 1, BODY = 2, FOUR = 5 };

/* Messages of onnx.proto, and which of their fields are messages in turn; LEAF is what is not taken apart. */
typedef enum { LEAF, MODEL, GRAPH, NODE, ATTRIBUTE, TENSOR, VALUE, TYPE, TENSOR_TYPE, SHAPE, DIMENSION, OPERATORS } kind;
static const struct {
  kind in;
  uint64_t number;
  kind is;
} inner[] = {
  {MODEL, 7, GRAPH},  {MODEL, 8, OPERATORS}, {GRAPH, 1, NODE},       {GRAPH, 5, TENSOR},     {GRAPH, 11, VALUE},
  {GRAPH, 12, VALUE}, {GRAPH, 13, VALUE},    {NODE, 5, ATTRIBUTE},   {ATTRIBUTE, 5, TENSOR}, {VALUE, 2, TYPE},
  {TYPE, 1, TENSOR_TYPE}, {TENSOR_TYPE, 2, SHAPE}, {SHAPE, 1, DIMENSION},
};

typedef struct field {
  uint64_t number, value; /* value: of a varint */
  unsigned wire;
  kind is;
  buffer bytes; /* of a leaf that is no varint */
  struct field *child;
  size_t n;
} field;

static void
field_clear(field *f)
{
  for (size_t i = 0; i < f->n; i++)
    field_clear(&f->child[i]);
  free(f->child);
  buffer_clear(&f->bytes);
}

static field *
add_child(field *f, size_t at)
{
  field *grown = realloc(f->child, (f->n + 1) * sizeof *f->child);

  if (grown == NULL)
    abort();
  f->child = grown;
  memmove(grown + at + 1, grown + at, (f->n - at) * sizeof *grown);
  f->n++;
  grown[at] = (field){0};
  return &grown[at];
}

static void
remove_child(field *f, size_t at)
{
  field_clear(&f->child[at]);
  f->n--;
  memmove(f->child + at, f->child + at + 1, (f->n - at) * sizeof *f->child);
}

static field
field_copy(const field *f)
{
  field copy = *f;

  copy.bytes = (buffer){0};
  copy.child = NULL;
  copy.n = 0;
  buffer_put(&copy.bytes, f->bytes.data, f->bytes.size);
  for (size_t i = 0; i < f->n; i++) {
    field child = field_copy(&f->child[i]);

    *add_child(&copy, copy.n) = child;
  }
  return copy;
}

/* --- taking apart --- */

static bool
read_varint(uint64_t *value, const unsigned char **at, const unsigned char *end)
{
  *value = 0;
  for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
    const unsigned char byte = *(*at)++;

    *value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80)
      return true;
  }
  return false;
}

static kind
kind_of(kind in, uint64_t number, unsigned wire)
{
  for (size_t i = 0; i < sizeof inner / sizeof inner[0] && wire == BODY; i++)
    if (inner[i].in == in && inner[i].number == number)
      return inner[i].is;
  return LEAF;
}

static bool split(field *message, const unsigned char *data, size_t size);

static bool
split_field(field *f, kind in, const unsigned char **at, const unsigned char *end)
{
  uint64_t key, size;

  if (!read_varint(&key, at, end))
    return false;
  f->number = key >> 3;
  f->wire = key & 7;
  f->is = kind_of(in, f->number, f->wire);
  if (f->wire == VARINT)
    return read_varint(&f->value, at, end);
  size = f->wire == EIGHT ? 8 : 4;
  if (f->wire == BODY && !read_varint(&size, at, end))
    return false;
  if ((f->wire != BODY && f->wire != EIGHT && f->wire != FOUR) || size > (size_t)(end - *at))
    return false;
  if (f->is == LEAF || !split(f, *at, size)) {
    f->is = LEAF;
    buffer_put(&f->bytes, *at, size);
  }
  *at += size;
  return true;
}

/* Fills the message's children; false, and none: it is no message. */
static bool
split(field *message, const unsigned char *data, size_t size)
{
  const unsigned char *at = data, *end = data + size;

  while (at < end)
    if (!split_field(add_child(message, message->n), message->is, &at, end)) {
      while (message->n > 0)
        remove_child(message, message->n - 1);
      return false;
    }
  return true;
}

/* --- sealing --- */

static void
put_varint(buffer *to, uint64_t value)
{
  for (; value >= 0x80; value >>= 7)
    buffer_put_word(to, (value & 0x7f) | 0x80, 1);
  buffer_put_word(to, value, 1);
}

static void
seal(buffer *to, const field *f)
{
  buffer body = {0};

  put_varint(to, f->number << 3 | f->wire);
  if (f->wire == VARINT) {
    put_varint(to, f->value);
    return;
  }
  buffer_put(&body, f->bytes.data, f->bytes.size);
  for (size_t i = 0; i < f->n; i++)
    seal(&body, &f->child[i]);
  if (f->wire == BODY)
    put_varint(to, body.size);
  buffer_put(to, body.data, body.size);
  buffer_clear(&body);
}

/* --- changes --- */

/* A field somewhere, of which the test holds: its parent and place. */
typedef struct {
  field *parent;
  size_t at, seen;
} place;

static void
find(place *found, field *in, bool (*test)(const field *parent, const field *f, const field *like), const field *like,
     chance *c)
{
  for (size_t i = 0; i < in->n; i++) {
    if (test(in, &in->child[i], like) && one_in(c, ++found->seen)) {
      found->parent = in;
      found->at = i;
    }
    find(found, &in->child[i], test, like, c);
  }
}

static bool
any(const field *parent, const field *f, const field *like)
{
  (void)parent;
  (void)f;
  (void)like;
  return true;
}

static bool
alike(const field *parent, const field *f, const field *like)
{
  (void)parent;
  return f != like && f->wire == like->wire && f->is == like->is && f->number == like->number;
}

/* A text of a node or an initializer's name. */
static bool
is_name(const field *parent, const field *f, const field *like)
{
  (void)like;
  return f->wire == BODY && f->is == LEAF
         && ((parent->is == NODE && f->number <= 4) || (parent->is == TENSOR && f->number == 8)
             || (parent->is == VALUE && f->number == 1) || (parent->is == ATTRIBUTE && f->number == 1));
}

/* One name becomes another: an input of a node is rewired, an attribute, an operator changed. */
static void
rename_field(field *model, chance *c)
{
  place one = {0}, other = {0};

  find(&one, model, is_name, NULL, c);
  find(&other, model, is_name, NULL, c);
  if (one.parent != NULL && other.parent != NULL && one.parent->child + one.at != other.parent->child + other.at) {
    const buffer *from = &other.parent->child[other.at].bytes;

    buffer_set(&one.parent->child[one.at].bytes, from->data, from->size);
  }
}

static void
change_value(field *f, chance *c)
{
  static const uint64_t values[] = {0, 1, 2, 3, 4, 5, 7, 8, 11, 13, 17, 20, 64, 255, UINT32_MAX, (uint64_t)1 << 32,
                                    UINT64_MAX, (uint64_t)-2, INT64_MAX, (uint64_t)1 << 63};

  if (one_in(c, 2))
    f->value += one_in(c, 2) ? 1 : (uint64_t)-1;
  else
    f->value = values[below(c, sizeof values / sizeof values[0])];
}

static void
change_leaf(field *f, chance *c)
{
  if (f->wire == VARINT)
    change_value(f, c);
  else if (f->is == LEAF)
    mutate_bytes(&f->bytes, f->wire == BODY ? 16 : 0);
  if (f->wire == EIGHT || f->wire == FOUR) {
    while (f->bytes.size < 8)
      buffer_put_word(&f->bytes, 0x3f, 1);
    f->bytes.size = f->wire == EIGHT ? 8 : 4;
  }
}

/* The field becomes one of another number, or a varint a packed list of one. */
static void
change_tag(field *f, chance *c)
{
  if (one_in(c, 2) && f->wire == VARINT) {
    put_varint(&f->bytes, f->value);
    f->wire = BODY;
  } else
    f->number = 1 + below(c, 25);
}

static void
change(field *model, place *at, chance *c)
{
  field *f = &at->parent->child[at->at], copy;
  place other = {0};

  switch (below(c, 10)) {
  case 0:
    copy = field_copy(f);
    *add_child(at->parent, below(c, at->parent->n + 1)) = copy;
    break;
  case 1:
    remove_child(at->parent, at->at);
    break;
  case 2:
    copy = *f;
    other.at = below(c, at->parent->n);
    *f = at->parent->child[other.at];
    at->parent->child[other.at] = copy;
    break;
  case 3: /* as one somewhere else; its copy is taken first, for it may be inside f */
    find(&other, model, alike, f, c);
    if (other.parent != NULL) {
      copy = field_copy(&other.parent->child[other.at]);
      field_clear(f);
      *f = copy;
    }
    break;
  case 4:
  case 5:
    rename_field(model, c);
    break;
  case 6:
    change_tag(f, c);
    break;
  default:
    change_leaf(f, c);
    break;
  }
}

bool
mutate_message(buffer *b, chance *c)
{
  field model = {.is = MODEL};
  place at = {0};
  bool known = b->size > 0 && split(&model, b->data, b->size);

  if (known)
    find(&at, &model, any, NULL, c);
  known = at.parent != NULL;
  if (known) {
    change(&model, &at, c);
    buffer_clear(b);
    for (size_t i = 0; i < model.n; i++)
      seal(b, &model.child[i]);
  }
  field_clear(&model);
  return known;
}
