/* The protocol buffers' wire format, and the messages of onnx.proto. */
#ifndef CLARKE_KERNEL_PROTOBUF_H
#define CLARKE_KERNEL_PROTOBUF_H

#include "check/base/bytes.h"

enum { VARINT = 0, EIGHT = 1, BODY = 2, FOUR = 5 }; /* wire types */

typedef struct {
  unsigned number, wire;
  bytes body; /* of a VARINT: its bytes */
} field;

/* Refuses a file that is not a ModelProto to its last byte, or that could be read in another way: every field, at any
 * depth, must be one of onnx.proto that is supported, of its wire type, and given once unless it is repeated. (Protocol
 * buffers merge what is given twice, and pass over a field of another wire type.) */
void protobuf_check(bytes file);

uint64_t varint(bytes *b);                         /* the next number, passed over */
bool next_of(bytes *b, unsigned number, field *f); /* the next with that number; false at the end */
field single(bytes b, unsigned number);            /* the one with that number; zeros when there is none */
bool given(bytes b, unsigned number);              /* is there a field with that number? */
uint64_t whole(bytes b, unsigned number);          /* 0 when there is none */
char *text(bytes b, unsigned number);              /* "" when there is none */

#endif
