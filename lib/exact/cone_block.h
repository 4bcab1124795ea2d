/* The steps of the strict cone, each on one block of distinct primitive rows. Private to lib/exact.
 *
 * Whatever sets d or u to an answer has verified it in integers against the matrix it was given. */
#ifndef CLARKE_EXACT_CONE_BLOCK_H
#define CLARKE_EXACT_CONE_BLOCK_H

#include "exact/cone.h"

#include <stdbool.h>

/* Is B d > 0 in every row? Is u >= 0, u != 0, B^T u = 0? */
bool clarke_cone_strict(const fmpz_mat_t b, const fmpz_mat_t d);
bool clarke_cone_gordan(const fmpz_mat_t b, const fmpz_mat_t u);

/* A block in floating point: b_ij = scaled_ij 2^(row_exp_i + col_exp_j), with all |scaled| <= 1. */
typedef struct {
  size_t rows, cols;
  double *scaled; /* row-major */
  long *row_exp, *col_exp;
} clarke_cone_floats;

clarke_status clarke_cone_floats_init(clarke_cone_floats *f, const fmpz_mat_t b,
                                      clarke_error *err);
void clarke_cone_floats_clear(clarke_cone_floats *f);

/* Rounds x, a direction for the scaled columns, to integers of a few bits until B d > 0. */
bool clarke_cone_round(fmpz_mat_t d, const fmpz_mat_t b, const clarke_cone_floats *f,
                       const double *x);

/* One block: d (cols x 1) or u (rows x 1) is set with the answer. */
clarke_status clarke_cone_block(clarke_cone_answer *answer, fmpz_mat_t d, fmpz_mat_t u,
                                const fmpz_mat_t b, uint64_t work, clarke_error *err);

#endif
