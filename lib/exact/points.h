/* Finite sets of rational vectors: hulls reduced to vertices, membership, the element of least norm. Vectors are rows of
 * rationals, dim of them. */
#ifndef CLARKE_EXACT_POINTS_H
#define CLARKE_EXACT_POINTS_H

#include "base/status.h"

#include <gmp.h>
#include <stdbool.h>
#include <stddef.h>

/* A finite set of vectors: sorted lexicographically, no two equal. */
typedef struct {
  size_t dim, n, capacity;
  mpq_t *entry; /* n x dim */
} clarke_points;

void clarke_points_init(clarke_points *s, size_t dim);
void clarke_points_clear(clarke_points *s);
/* Copies v in unless it is there. */
clarke_status clarke_points_add(clarke_points *s, mpq_t *v, clarke_error *err);
/* The n vectors of rows (n x dim), sorted, each once, in place of what s held. */
clarke_status clarke_points_set(clarke_points *s, size_t n, mpq_t *rows, clarke_error *err);
/* Its row number, or SIZE_MAX. */
size_t clarke_points_find(const clarke_points *s, mpq_t *v);

#endif
