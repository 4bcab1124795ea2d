/* The rank of an exact matrix, with a certificate.
 *
 * From below: a prime p and pivots; the minor of the integer matrix on those rows and columns is
 * not zero modulo p, so it is not zero, and the rank is at least their number. From above: nothing
 * is needed when the rank is min(rows, cols); otherwise `null` holds cols - rank independent
 * vectors (columns) with A null = 0, checked exactly before they are returned. Both bounds meet,
 * or the function reports that they could not (known = false): the primes were unlucky, or the null
 * vectors would have more than 2^25 entries. */
#ifndef CLARKE_EXACT_RANK_H
#define CLARKE_EXACT_RANK_H

#include "exact/matrix.h"

#include <gmp.h>

#include <flint/flint.h>
#include <flint/fmpz_mat.h>

typedef struct {
  bool known;
  size_t rank;
  uint64_t prime;
  size_t *row, *col; /* `rank` of each: pivots */
  fmpz_mat_t null;   /* cols x (cols - rank) integers, or cols x 0 when not needed */
} clarke_rank;

void clarke_rank_init(clarke_rank *r);
void clarke_rank_clear(clarke_rank *r);

/* A must be exact (no radius). */
clarke_status clarke_rank_compute(clarke_rank *r, const clarke_matrix *a, clarke_error *err);

/* out (of m's shape) = the integers word(i,j), without the scale; and a new exact matrix from
 * integers, with scale 1. */
void clarke_matrix_get_fmpz_mat(fmpz_mat_t out, const clarke_matrix *m);
clarke_status clarke_matrix_set_fmpz_mat(clarke_matrix *m, const fmpz_mat_t from,
                                         clarke_error *err);

#endif
