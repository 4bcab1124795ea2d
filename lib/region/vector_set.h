/* Distinct integer vectors of one length, numbered in the order in which they came. */
#ifndef CLARKE_REGION_VECTOR_SET_H
#define CLARKE_REGION_VECTOR_SET_H

#include "base/status.h"

#include <gmp.h>
#include <stddef.h>

#include <flint/fmpz.h>

typedef struct {
  size_t width;        /* integers of one */
  size_t n, room;
  fmpz *vector;        /* n x width */
  size_t slots, *slot; /* a hash table: number + 1, or 0 */
} clarke_vector_set;

void clarke_vector_set_init(clarke_vector_set *s, size_t width);
void clarke_vector_set_clear(clarke_vector_set *s); /* of one that is zeroed, too */

/* The vector's number; it is added (copied) when it is new. */
clarke_status clarke_vector_set_add(size_t *number, clarke_vector_set *s, const fmpz *vector, clarke_error *err);

#endif
