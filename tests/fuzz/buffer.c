#include "buffer.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

void
buffer_clear(buffer *b)
{
  free(b->data);
  *b = (buffer){0};
}

void
buffer_put(buffer *b, const void *data, size_t size)
{
  if (b->size + size >= b->room) {
    b->room = 2 * (b->size + size) + 16;
    b->data = realloc(b->data, b->room);
    if (b->data == NULL)
      abort();
  }
  if (size != 0)
    memcpy(b->data + b->size, data, size);
  b->size += size;
}

void
buffer_put_word(buffer *b, uint64_t word, size_t width)
{
  for (size_t k = 0; k < width; k++) {
    const unsigned char byte = k < 8 ? (unsigned char)(word >> (8 * k)) : 0;

    buffer_put(b, &byte, 1);
  }
}

void
buffer_set(buffer *b, const void *data, size_t size)
{
  buffer fresh = {0};

  buffer_put(&fresh, data, size);
  buffer_clear(b);
  *b = fresh;
}

void
buffer_replace(buffer *b, size_t at, size_t out, const void *data, size_t in)
{
  buffer fresh = {0};

  buffer_put(&fresh, b->data, at);
  buffer_put(&fresh, data, in);
  buffer_put(&fresh, b->data + at + out, b->size - at - out);
  buffer_clear(b);
  *b = fresh;
}

uint64_t
word_at(const unsigned char *data, size_t width)
{
  uint64_t word = 0;

  for (size_t k = width; k-- > 0;)
    word = word << 8 | data[k];
  return word;
}

/* --- archives --- */

/* Raw deflate, both ways; false when it is not that, or more than most. */
static bool
inflate_into(buffer *to, const unsigned char *data, size_t size, size_t most)
{
  z_stream z = {.next_in = (unsigned char *)data, .avail_in = (uInt)size};
  unsigned char room[4096];
  int status = Z_OK;

  if (inflateInit2(&z, -15) != Z_OK)
    return false;
  while (status == Z_OK && to->size <= most) {
    z.next_out = room;
    z.avail_out = sizeof room;
    status = inflate(&z, Z_NO_FLUSH);
    buffer_put(to, room, sizeof room - z.avail_out);
  }
  inflateEnd(&z);
  return status == Z_STREAM_END;
}

/* In blocks that are not compressed (RFC 1951, section 3.2.4): a compressor would take most of a fuzzer's time. */
static void
deflate_into(buffer *to, const buffer *from)
{
  size_t at = 0, n;

  do {
    n = from->size - at < 65535 ? from->size - at : 65535;
    buffer_put_word(to, at + n == from->size, 1);
    buffer_put_word(to, n, 2);
    buffer_put_word(to, ~n, 2);
    if (n > 0)
      buffer_put(to, from->data + at, n);
    at += n;
  } while (at < from->size);
}

/* The member of a directory's entry. */
static bool
split_member(member *m, const unsigned char *entry, const unsigned char *data, size_t size)
{
  const size_t method = word_at(entry + 10, 2), packed = word_at(entry + 20, 4), name = word_at(entry + 28, 2);
  const size_t at = word_at(entry + 42, 4);
  size_t start;

  if (at > size || size - at < 30)
    return false;
  start = at + 30 + word_at(data + at + 26, 2) + word_at(data + at + 28, 2);
  if (start > size || packed > size - start)
    return false;
  buffer_put(&m->name, entry + 46, name);
  m->deflated = method == 8;
  if (m->deflated)
    return inflate_into(&m->content, data + start, packed, (size_t)1 << 20);
  buffer_put(&m->content, data + start, packed);
  return true;
}

size_t
archive_split(member **members, const unsigned char *data, size_t size)
{
  size_t end = size < 22 ? 0 : size - 22, n = 0, at;

  *members = NULL;
  while (end > 0 && memcmp(data + end, "PK\5\6", 4) != 0)
    end--;
  at = end > 0 ? word_at(data + end + 16, 4) : size;
  while (at <= size && size - at >= 46 && memcmp(data + at, "PK\1\2", 4) == 0 && n < 1000) {
    const size_t length = 46 + word_at(data + at + 28, 2) + word_at(data + at + 30, 2) + word_at(data + at + 32, 2);
    member *grown = realloc(*members, (n + 1) * sizeof **members);

    if (grown == NULL)
      abort();
    *members = grown;
    grown[n] = (member){.deflated = false};
    if (length > size - at || !split_member(&grown[n], data + at, data, size)) {
      buffer_clear(&grown[n].name);
      buffer_clear(&grown[n].content);
      break;
    }
    at += length;
    n++;
  }
  return n;
}

/* What local header and directory share, from the version needed on. */
static void
put_common(buffer *to, const member *m, size_t packed)
{
  bool ascii = true;

  for (size_t i = 0; i < m->name.size; i++)
    ascii = ascii && m->name.data[i] < 128;
  buffer_put_word(to, 20, 2);
  buffer_put_word(to, ascii ? 0 : 0x800, 2);
  buffer_put_word(to, m->deflated ? 8 : 0, 2);
  buffer_put_word(to, 0x210000, 4); /* the first of January 1980 */
  buffer_put_word(to, crc32(0, m->content.data, (uInt)m->content.size), 4);
  buffer_put_word(to, packed, 4);
  buffer_put_word(to, m->content.size, 4);
  buffer_put_word(to, m->name.size, 2);
  buffer_put_word(to, 0, 2);
}

static void
seal_member(buffer *to, buffer *directory, const member *m, size_t from)
{
  const size_t at = to->size - from;
  buffer packed = {0};

  if (m->deflated)
    deflate_into(&packed, &m->content);
  else
    buffer_put(&packed, m->content.data, m->content.size);
  buffer_put(to, "PK\3\4", 4);
  put_common(to, m, packed.size);
  buffer_put(to, m->name.data, m->name.size);
  buffer_put(to, packed.data, packed.size);
  buffer_put(directory, "PK\1\2\24\0", 6);
  put_common(directory, m, packed.size);
  buffer_put_word(directory, 0, 10);
  buffer_put_word(directory, at, 4);
  buffer_put(directory, m->name.data, m->name.size);
  buffer_clear(&packed);
}

void
archive_seal(buffer *to, const member *members, size_t n)
{
  const size_t from = to->size;
  buffer directory = {0};
  size_t start;

  for (size_t i = 0; i < n; i++)
    seal_member(to, &directory, &members[i], from);
  start = to->size - from;
  buffer_put(to, directory.data, directory.size);
  buffer_put(to, "PK\5\6\0\0\0", 8);
  buffer_put_word(to, n << 16 | n, 4);
  buffer_put_word(to, directory.size, 4);
  buffer_put_word(to, start, 6);
  buffer_clear(&directory);
}

void
members_free(member *members, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    buffer_clear(&members[i].name);
    buffer_clear(&members[i].content);
  }
  free(members);
}
