/* Protobuf, written field by field, as no well-behaved writer would. */
#ifndef CLARKE_TESTS_FORMAT_PROTOBUF_H
#define CLARKE_TESTS_FORMAT_PROTOBUF_H

#include "bytes.h"

static inline void
put_varint(bytes *b, uint64_t v)
{
  for (; v >= 0x80; v >>= 7)
    put_word(b, v | 0x80, 1);
  put_word(b, v, 1);
}

static inline void
put_int(bytes *b, unsigned field, uint64_t v)
{
  put_varint(b, field << 3);
  put_varint(b, v);
}

static inline void
put_bytes(bytes *b, unsigned field, const void *data, size_t size)
{
  put_varint(b, field << 3 | 2);
  put_varint(b, size);
  put(b, data, size);
}

static inline void
put_string(bytes *b, unsigned field, const char *s)
{
  put_bytes(b, field, s, strlen(s));
}

/* Appends inner as a field of b, and clears it. */
static inline void
put_message(bytes *b, unsigned field, bytes *inner)
{
  put_bytes(b, field, inner->data, inner->size);
  bytes_clear(inner);
}

#endif
