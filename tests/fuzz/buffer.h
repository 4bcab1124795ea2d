/* Bytes that grow, and ZIP archives of them. */
#ifndef CLARKE_TESTS_FUZZ_BUFFER_H
#define CLARKE_TESTS_FUZZ_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed, it is empty. Memory that runs out aborts. */
typedef struct {
  unsigned char *data;
  size_t size, room; /* room: private */
} buffer;

void buffer_clear(buffer *b);
void buffer_put(buffer *b, const void *data, size_t size);
void buffer_put_word(buffer *b, uint64_t word, size_t width); /* the lowest byte first */
void buffer_set(buffer *b, const void *data, size_t size);
/* Replaces b[at, at + out) by `in` bytes of data, which are not b's. */
void buffer_replace(buffer *b, size_t at, size_t out, const void *data, size_t in);

uint64_t word_at(const unsigned char *data, size_t width);

/* A member of an archive. */
typedef struct {
  buffer name, content; /* not compressed */
  bool deflated;
} member;

/* Of an archive, whatever its CRCs, lengths and local headers say beside its directory; returns how many. The caller frees. */
size_t archive_split(member **members, const unsigned char *data, size_t size);
/* Appends an archive of these, everything in it agreeing. */
void archive_seal(buffer *to, const member *members, size_t n);
void members_free(member *members, size_t n);

#endif
