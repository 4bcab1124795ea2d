/* The protobuf wire format (https://protobuf.dev/programming-guides/encoding), read strictly.
 *
 * A message is a run of (field number, wire type, payload). The fields that it may have are stated as
 * rules. Any other field, one with another wire type (which protobuf would pass over), or a singular one
 * given twice (which it would merge or override) is an error, as are groups, varints of more than 64 bits
 * and lengths past the end. Nothing here allocates; nested messages are opened one by one by whoever
 * knows their depth, or all checked by clarke_wire_check. */
#ifndef CLARKE_FORMAT_WIRE_H
#define CLARKE_FORMAT_WIRE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
  CLARKE_WIRE_VARINT = 0,
  CLARKE_WIRE_64 = 1,
  CLARKE_WIRE_BYTES = 2, /* strings and nested messages */
  CLARKE_WIRE_32 = 5,
} clarke_wire_type;

/* NEVER: a field whose reader refuses it by name; clarke_wire_check refuses it wherever it stands. */
typedef enum { CLARKE_WIRE_ONE, CLARKE_WIRE_MANY, CLARKE_WIRE_NEVER } clarke_wire_times;

typedef struct clarke_wire_message clarke_wire_message;

typedef struct {
  unsigned number;       /* 1 to 63 */
  clarke_wire_type type; /* of one entry; a repeated number may also come packed */
  clarke_wire_times times;
  const char *name;
  const clarke_wire_message *inner; /* of a nested message; NULL: numbers, bytes, text */
} clarke_wire_rule;

struct clarke_wire_message {
  const char *name; /* "TensorProto" */
  size_t n;
  const clarke_wire_rule *rules;
};

/* A run of bytes inside the file that starts at base. */
typedef struct {
  const unsigned char *base, *data;
  size_t size;
} clarke_wire_span;

typedef struct {
  unsigned number; /* 0: the message has ended */
  const clarke_wire_rule *rule;
  clarke_wire_span span; /* the payload: text, a message, or one or more numbers as stored */
  uint64_t value;        /* a single number: the varint, or the little-endian word */
} clarke_wire_field;

typedef struct {
  const clarke_wire_message *message;
  clarke_wire_span left;
  uint64_t seen; /* bit k: field number k has come */
} clarke_wire;

/* Begins to read the bytes of a message by its rules. */
void clarke_wire_open(clarke_wire *w, const clarke_wire_message *message, clarke_wire_span span);

/* The next field; number 0 at the end. */
clarke_status clarke_wire_next(clarke_wire *w, clarke_wire_field *f, clarke_error *err);

/* The payload of the field with that number, for naming what is refused; empty when there is none. */
clarke_wire_span clarke_wire_find(clarke_wire_span span, const clarke_wire_message *message,
                                  unsigned number);

/* Does the message keep its rules to its last byte, and do all messages in it, read or not? They may lie in one
 * another 64 deep. */
clarke_status clarke_wire_check(clarke_wire_span span, const clarke_wire_message *message,
                                clarke_error *err);

/* The numbers in one occurrence of a repeated number field, one by one: set run = f->span first;
 * there is another while run->size != 0. */
clarke_status clarke_wire_number(clarke_wire_span *run, clarke_wire_type type, uint64_t *value,
                                 clarke_error *err);

/* How many those are, without decoding them. A span holds at most span.size numbers. */
clarke_status clarke_wire_count(const clarke_wire_field *f, size_t *count, clarke_error *err);

#endif
