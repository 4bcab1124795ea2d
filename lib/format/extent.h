/* The extent of a tensor in a file: how many entries and bytes its stated shape asks for, worked
 * out (and compared with the bytes there are) before anything is allocated. */
#ifndef CLARKE_FORMAT_EXTENT_H
#define CLARKE_FORMAT_EXTENT_H

#include "exact/tensor.h"

/* Where tensors may lie in the same bytes of a file, they may hold so many times its size in all:
 * tied weights come to twice or thrice, without a bound it could be any number. */
#define CLARKE_MAX_SHARING 16

typedef struct {
  size_t count, bytes;
  char text[240]; /* "float32 [2, 3]", for messages */
} clarke_extent;

/* Refuses more than CLARKE_MAX_ENTRIES entries. rank <= CLARKE_MAX_RANK. */
clarke_status clarke_extent_of(clarke_extent *e, clarke_dtype dtype, size_t rank,
                               const size_t *dims, clarke_error *err);

/* Copies e->count entries of `width` bytes, each index's from where its strides (in entries) lead,
 * into row-major order. They must lie within `from`. */
void clarke_extent_gather(void *to, const void *from, const clarke_extent *e, size_t width,
                          size_t rank, const size_t *dims, const size_t *strides);

#endif
