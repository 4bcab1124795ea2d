/* Elimination modulo a prime below 2^30: pivots, and what vectors the basis has for its null space. Private to lib/exact. */
#ifndef CLARKE_EXACT_ECHELON_H
#define CLARKE_EXACT_ECHELON_H

#include "exact/matrix.h"

/* An echelon basis of the rows seen so far: row k is zero at the pivots before the k-th and 1 at its
 * own. */
typedef struct {
  uint64_t p, inverse;
  size_t cols, rank;
  uint32_t *basis;
  size_t *row, *col;
  bool pivots_lent; /* row and col belong to another */
  uint32_t *null;  /* cols - rank null vectors of the basis, when null_rank == rank */
  size_t null_rank; /* SIZE_MAX: none */
  size_t dependent; /* rows found dependent without null vectors since they were last found */
} clarke_echelon;

/* The echelon basis of a modulo p. Rows are looked at only until the rank is full. */
clarke_status clarke_echelon_make(clarke_echelon *e, const clarke_matrix *a, uint64_t p, clarke_error *err);
void clarke_echelon_clear(clarke_echelon *e);

/* x = the null vector of the basis that is 1 at column `free_col` and 0 at the other columns without a
 * pivot: from the last row back, since each row is zero at the pivots before its own. */
void clarke_echelon_null(const clarke_echelon *e, uint32_t *x, size_t free_col);

#endif
