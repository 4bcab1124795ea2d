/* Building files byte by byte, as no well-behaved writer would. */
#ifndef CLARKE_TESTS_FORMAT_BYTES_H
#define CLARKE_TESTS_FORMAT_BYTES_H

#include "../suite.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  unsigned char *data;
  size_t size;
} bytes;

static inline void
bytes_clear(bytes *b)
{
  free(b->data);
  memset(b, 0, sizeof *b);
}

static inline void
put(bytes *b, const void *data, size_t size)
{
  b->data = realloc(b->data, b->size + size + 1);
  ck_assert_ptr_nonnull(b->data);
  if (size != 0)
    memcpy(b->data + b->size, data, size);
  b->size += size;
}

static inline void
put_text(bytes *b, const char *text)
{
  put(b, text, strlen(text));
}

/* The low `width` bytes, little-endian. */
static inline void
put_word(bytes *b, uint64_t word, size_t width)
{
  for (size_t k = 0; k < width; k++) {
    const unsigned char byte = (unsigned char)(word >> (8 * k));

    put(b, &byte, 1);
  }
}

/* A copy that ends where its bytes end, so that a sanitizer sees any read past them. */
static inline bytes
tight(const bytes *b)
{
  bytes copy = { malloc(b->size), b->size };

  if (b->size != 0)
    memcpy(copy.data, b->data, b->size);
  return copy;
}

/* Fails unless the message was written and holds every one of the `|`-separated pieces. */
static inline void
assert_says(const char *message, const char *pieces)
{
  char *copy = strdup(pieces), *rest = copy;

  for (char *piece; (piece = strsep(&rest, "|")) != NULL;)
    ck_assert_msg(strstr(message, piece) != NULL, "\"%s\" does not say \"%s\"", message, piece);
  free(copy);
}

#endif
