/* The protobuf wire format (wire.h). */
#include "format/wire.h"

static clarke_status
malformed(clarke_wire_span at, const char *why, clarke_error *err)
{
  return clarke_fail(err, CLARKE_EINPUT, "malformed at byte %zu: %s",
                     (size_t)(at.data - at.base), why);
}

static void
skip(clarke_wire_span *s, size_t n)
{
  s->data += n;
  s->size -= n;
}

static clarke_status
read_varint(clarke_wire_span *s, uint64_t *value, clarke_error *err)
{
  *value = 0;
  for (size_t k = 0; k < 10; k++) {
    unsigned char byte;

    if (k == s->size)
      return malformed(*s, "a varint runs past the end", err);
    byte = s->data[k];
    if (k == 9 && byte > 1)
      break;
    if (k > 0 && byte == 0)
      return malformed(*s, "a varint in more bytes than it takes", err);
    *value |= (uint64_t)(byte & 0x7f) << (7 * k);
    if (byte < 0x80) {
      skip(s, k + 1);
      return CLARKE_OK;
    }
  }
  return malformed(*s, "a varint is longer than 64 bits", err);
}

static clarke_status
read_fixed(clarke_wire_span *s, size_t width, uint64_t *value, clarke_error *err)
{
  *value = 0;
  if (s->size < width)
    return malformed(*s, "a fixed-width number runs past the end", err);
  for (size_t k = width; k-- > 0;)
    *value = *value << 8 | s->data[k];
  skip(s, width);
  return CLARKE_OK;
}

clarke_status
clarke_wire_number(clarke_wire_span *run, clarke_wire_type type, uint64_t *value,
                   clarke_error *err)
{
  switch (type) {
  case CLARKE_WIRE_VARINT:
    return read_varint(run, value, err);
  case CLARKE_WIRE_64:
    return read_fixed(run, 8, value, err);
  case CLARKE_WIRE_32:
    return read_fixed(run, 4, value, err);
  case CLARKE_WIRE_BYTES:
    break;
  }
  return clarke_fail(err, CLARKE_EINTERNAL, "a run of bytes was read as numbers");
}

/* One field's payload, whatever its type; leaves s after it. */
static clarke_status
read_payload(clarke_wire_span *s, unsigned type, clarke_wire_field *f, clarke_error *err)
{
  const clarke_wire_span start = *s;
  clarke_status status;

  switch (type) {
  case CLARKE_WIRE_VARINT:
  case CLARKE_WIRE_64:
  case CLARKE_WIRE_32:
    status = clarke_wire_number(s, (clarke_wire_type)type, &f->value, err);
    f->span = start;
    f->span.size = start.size - s->size;
    return status;
  case CLARKE_WIRE_BYTES:
    status = read_varint(s, &f->value, err);
    if (status != CLARKE_OK)
      return status;
    if (f->value > s->size)
      return malformed(start, "a length runs past the end", err);
    f->span = *s;
    f->span.size = (size_t)f->value;
    skip(s, f->span.size);
    return CLARKE_OK;
  case 3:
  case 4:
    return malformed(start, "a group, which these files do not use", err);
  default:
    return malformed(start, "no such wire type", err);
  }
}

void
clarke_wire_open(clarke_wire *w, const clarke_wire_message *message, clarke_wire_span span)
{
  w->message = message;
  w->left = span;
  w->seen = 0;
}

static const clarke_wire_rule *
find_rule(const clarke_wire_message *message, uint64_t number)
{
  for (size_t k = 0; k < message->n; k++)
    if (message->rules[k].number == number)
      return &message->rules[k];
  return NULL;
}

/* Does the field keep its rule? */
static clarke_status
check_rule(clarke_wire *w, const clarke_wire_field *f, unsigned type, clarke_error *err)
{
  const clarke_wire_rule *rule = f->rule;
  const bool packed = type == CLARKE_WIRE_BYTES && rule->times == CLARKE_WIRE_MANY;
  const uint64_t bit = (uint64_t)1 << rule->number;

  if (type != (unsigned)rule->type && !packed)
    return clarke_fail(err, CLARKE_EINPUT, "%s.%s has wire type %u; expected %u",
                       w->message->name, rule->name, type, (unsigned)rule->type);
  if (rule->times == CLARKE_WIRE_ONE && (w->seen & bit) != 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s.%s is given twice", w->message->name, rule->name);
  w->seen |= bit;
  return CLARKE_OK;
}

clarke_status
clarke_wire_next(clarke_wire *w, clarke_wire_field *f, clarke_error *err)
{
  const clarke_wire_span start = w->left;
  uint64_t tag;
  clarke_status status;

  f->number = 0;
  f->rule = NULL;
  if (w->left.size == 0)
    return CLARKE_OK;
  status = read_varint(&w->left, &tag, err);
  if (status != CLARKE_OK)
    return status;
  if (tag >> 3 == 0 || tag >> 32 != 0)
    return malformed(start, "no such field number", err);
  status = read_payload(&w->left, (unsigned)(tag & 7), f, err);
  if (status != CLARKE_OK)
    return status;
  f->rule = find_rule(w->message, tag >> 3);
  if (f->rule == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s has a field %u, which is not known", w->message->name,
                       (unsigned)(tag >> 3));
  f->number = f->rule->number;
  return check_rule(w, f, (unsigned)(tag & 7), err);
}

clarke_wire_span
clarke_wire_find(clarke_wire_span span, const clarke_wire_message *message, unsigned number)
{
  const clarke_wire_span none = { span.base, span.base, 0 };
  clarke_wire w;
  clarke_wire_field f;

  clarke_wire_open(&w, message, span);
  while (clarke_wire_next(&w, &f, NULL) == CLARKE_OK && f.number != 0)
    if (f.number == number)
      return f.span;
  return none;
}

/* Numbers one after another are whole. */
static clarke_status
check_numbers(const clarke_wire_field *f, clarke_error *err)
{
  clarke_wire_span run = f->span;
  clarke_status status = CLARKE_OK;

  while (status == CLARKE_OK && run.size != 0) {
    uint64_t value;

    status = clarke_wire_number(&run, f->rule->type, &value, err);
  }
  return status;
}

/* Messages in one another: a graph in an attribute of a node may hold others. */
#define MAX_NESTED 64

static clarke_status
check_nested(clarke_wire_span span, const clarke_wire_message *message, size_t depth, clarke_error *err)
{
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status;

  clarke_wire_open(&w, message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0) {
    if (f.rule->times == CLARKE_WIRE_NEVER)
      return clarke_fail(err, CLARKE_EINPUT, "%s.%s is not supported", message->name, f.rule->name);
    if (f.rule->inner != NULL && depth == MAX_NESTED)
      return clarke_fail(err, CLARKE_EINPUT, "more than %d messages in one another", MAX_NESTED);
    if (f.rule->inner != NULL)
      status = check_nested(f.span, f.rule->inner, depth + 1, err);
    else if (f.rule->type != CLARKE_WIRE_BYTES)
      status = check_numbers(&f, err);
    if (status != CLARKE_OK)
      return status;
  }
  return status;
}

clarke_status
clarke_wire_check(clarke_wire_span span, const clarke_wire_message *message, clarke_error *err)
{
  return check_nested(span, message, 0, err);
}

clarke_status
clarke_wire_count(const clarke_wire_field *f, size_t *count, clarke_error *err)
{
  const size_t width = f->rule->type == CLARKE_WIRE_64 ? 8 : 4;

  *count = 0;
  if (f->rule->type == CLARKE_WIRE_VARINT) {
    for (size_t k = 0; k < f->span.size; k++)
      *count += f->span.data[k] < 0x80;
    if (f->span.size != 0 && f->span.data[f->span.size - 1] >= 0x80)
      return malformed(f->span, "a packed varint runs past the end", err);
    return CLARKE_OK;
  }
  if (f->span.size % width != 0)
    return malformed(f->span, "packed numbers are cut short", err);
  *count = f->span.size / width;
  return CLARKE_OK;
}
