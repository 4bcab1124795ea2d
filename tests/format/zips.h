/* ZIP archives written by hand, true or not. */
#ifndef CLARKE_TESTS_FORMAT_ZIPS_H
#define CLARKE_TESTS_FORMAT_ZIPS_H

#include "bytes.h"

/* CRC-32 (ISO 3309), bit by bit. */
static inline uint32_t
crc32_of(const unsigned char *data, size_t size)
{
  uint32_t crc = ~0u;

  for (size_t i = 0; i < size; i++) {
    crc ^= data[i];
    for (int k = 0; k < 8; k++)
      crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

/* A member as its headers describe it, true or not. */
typedef struct {
  const char *name;
  bytes data;
  unsigned flags, method;
  uint32_t crc, packed, size;
  size_t offset;
} member;

static inline member
member_of(const char *name, bytes data)
{
  const member m = { name, data, 0, 0, crc32_of(data.data, data.size), (uint32_t)data.size,
                     (uint32_t)data.size, SIZE_MAX };

  return m;
}

/* What the local and the central header have in common. */
static inline void
put_common(bytes *b, const member *m)
{
  put_word(b, 20, 2);
  put_word(b, m->flags, 2);
  put_word(b, m->method, 2);
  put_word(b, 0x21 << 16, 4);
  put_word(b, m->crc, 4);
  put_word(b, m->packed, 4);
  put_word(b, m->size, 4);
  put_word(b, strlen(m->name), 2);
  put_word(b, 0, 2);
}

static inline void
put_local(bytes *b, member *m)
{
  if (m->offset != SIZE_MAX)
    return;
  m->offset = b->size;
  put_text(b, "PK\3\4");
  put_common(b, m);
  put_text(b, m->name);
  put(b, m->data.data, m->data.size);
}

/* Members given an offset share the data of the one there. Clears the members' data. */
static inline bytes
archive_of(member *members, size_t n)
{
  bytes b = { 0 };
  size_t directory, end;

  for (size_t k = 0; k < n; k++)
    put_local(&b, &members[k]);
  directory = b.size;
  for (size_t k = 0; k < n; k++) {
    put_text(&b, "PK\1\2");
    put_word(&b, 20, 2);
    put_common(&b, &members[k]);
    put_word(&b, 0, 6);
    put_word(&b, 0, 4);
    put_word(&b, members[k].offset, 4);
    put_text(&b, members[k].name);
    bytes_clear(&members[k].data);
  }
  end = b.size;
  put_text(&b, "PK\5\6");
  put_word(&b, 0, 4);
  put_word(&b, n | n << 16, 4);
  put_word(&b, end - directory, 4);
  put_word(&b, directory, 4);
  put_word(&b, 0, 2);
  return b;
}

#endif
