/* Rows of an arrangement: nonzero integer vectors r_0, ..., r_(n-1) of Z^dim, each with the hyperplane {x : <r_i, x> = 0}.
 *
 * Beside the integers stand doubles: unit_ij is r_ij / |r_i|, times a factor near 1 that the row's entries
 * share, with a relative error below 2^-51 (or it is 0, for an entry below 2^-900 of the largest). They guess; and with a
 * bound on their error they tell most signs. What they leave open the integers tell. */
#ifndef CLARKE_REGION_ROWS_H
#define CLARKE_REGION_ROWS_H

#include "base/status.h"

#include <gmp.h>
#include <stdbool.h>
#include <stddef.h>

#include <flint/flint.h>
#include <flint/fmpz_mat.h>

typedef struct {
  size_t n, dim;
  fmpz_mat_t exact; /* n x dim */
  double *unit;     /* n x dim */
} clarke_rows;

/* unit (dim entries), as above, of a row that is not 0. */
void clarke_unit(double *unit, const fmpz *row, size_t dim);

/* Copies the integers. A zero row is our own error. */
clarke_status clarke_rows_init(clarke_rows *rows, const fmpz_mat_t integers, clarke_error *err);
void clarke_rows_clear(clarke_rows *rows); /* of rows that are zeroed, too */

/* Row i as a unit vector, in doubles. */
static inline const double *
clarke_rows_unit(const clarke_rows *rows, size_t i)
{
  return rows->unit + i * rows->dim;
}

/* A point with integer entries. */
typedef struct {
  double *x;        /* dim; the integers themselves, below 2^53, or when `large` doubles near them */
  bool large;
  fmpz_mat_t exact; /* dim x 1, when large */
} clarke_witness;

clarke_status clarke_witness_init(clarke_witness *w, size_t dim, clarke_error *err);
void clarke_witness_clear(clarke_witness *w); /* of a witness that is zeroed, too */
void clarke_witness_set(clarke_witness *w, const clarke_witness *from, size_t dim); /* a copy */
/* The integers of a column. */
void clarke_witness_set_exact(clarke_witness *w, const fmpz_mat_t column);
/* Entry j. */
void clarke_witness_get(fmpz_t entry, const clarke_witness *w, size_t j);

/* The sign of <r_i, w>: -1, 0 or 1, exactly. */
int clarke_rows_sign(const clarke_rows *rows, size_t i, const clarke_witness *w);

#endif
