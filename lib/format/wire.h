/* The protobuf wire format (https://protobuf.dev/programming-guides/encoding), read strictly.
 *
 * A message is a run of (field number, wire type, payload). A reader states the fields it wants as
 * rules; those it does not name are skipped, by length, unseen. A wanted field with another wire
 * type, or a singular one given twice (which protobuf would silently merge or override), is an
 * error, as are groups, overlong varints and lengths past the end. Nothing here allocates or
 * recurses: nested messages are opened one by one by whoever knows their depth. */
#ifndef CLARKE_FORMAT_WIRE_H
#define CLARKE_FORMAT_WIRE_H

#include "status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
  CLARKE_WIRE_VARINT = 0,
  CLARKE_WIRE_64 = 1,
  CLARKE_WIRE_BYTES = 2, /* strings and nested messages */
  CLARKE_WIRE_32 = 5,
} clarke_wire_type;

typedef enum { CLARKE_WIRE_ONE, CLARKE_WIRE_MANY } clarke_wire_times;

typedef struct {
  unsigned number;       /* 1 to 63 */
  clarke_wire_type type; /* of one entry; a repeated number may also come packed */
  clarke_wire_times times;
  const char *name;
} clarke_wire_rule;

typedef struct {
  const char *name; /* "TensorProto" */
  size_t n;
  const clarke_wire_rule *rules;
} clarke_wire_message;

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

void clarke_wire_open(clarke_wire *w, const clarke_wire_message *message, clarke_wire_span span);

/* The next wanted field; number 0 at the end. */
clarke_status clarke_wire_next(clarke_wire *w, clarke_wire_field *f, clarke_error *err);

/* The payload of the first wanted field, for naming what is refused; empty when there is none. */
clarke_wire_span clarke_wire_find(clarke_wire_span span, const clarke_wire_message *message);

/* The numbers in one occurrence of a repeated number field, one by one: set run = f->span first;
 * there is another while run->size != 0. */
clarke_status clarke_wire_number(clarke_wire_span *run, clarke_wire_type type, uint64_t *value,
                                 clarke_error *err);

/* How many those are, without decoding them. A span holds at most span.size numbers. */
clarke_status clarke_wire_count(const clarke_wire_field *f, size_t *count, clarke_error *err);

#endif
