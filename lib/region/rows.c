/* Rows, points and the signs of their products (rows.h). */
#include "region/rows.h"
#include "base/verify.h"
#include "exact/upward.h"

#include <flint/fmpz.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- rows ------------------------------------------------------------------------------------ */

/* Entries over a power of two near the largest, then over their norm. */
void
clarke_unit(double *unit, const fmpz *row, size_t dim)
{
  slong most = 0;
  double norm = 0;

  for (size_t j = 0; j < dim; j++)
    most = fmpz_bits(row + j) > (flint_bitcnt_t)most ? (slong)fmpz_bits(row + j) : most;
  for (size_t j = 0; j < dim; j++) {
    slong e;
    const double m = fmpz_get_d_2exp(&e, row + j);

    unit[j] = e - most < -900 ? 0 : ldexp(m, (int)(e - most));
    norm += unit[j] * unit[j];
  }
  CLARKE_ASSERT(norm > 0);
  norm = sqrt(norm);
  for (size_t j = 0; j < dim; j++)
    unit[j] /= norm;
}

clarke_status
clarke_rows_init(clarke_rows *rows, const fmpz_mat_t integers, clarke_error *err)
{
  rows->n = (size_t)fmpz_mat_nrows(integers);
  rows->dim = (size_t)fmpz_mat_ncols(integers);
  fmpz_mat_init_set(rows->exact, integers);
  rows->unit = malloc((rows->n * rows->dim + 1) * sizeof *rows->unit);
  if (rows->unit == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < rows->n; i++)
    clarke_unit(rows->unit + i * rows->dim, fmpz_mat_entry(rows->exact, (slong)i, 0), rows->dim);
  return CLARKE_OK;
}

void
clarke_rows_clear(clarke_rows *rows)
{
  if (rows->exact->r > 0 || rows->unit != NULL)
    fmpz_mat_clear(rows->exact);
  free(rows->unit);
  memset(rows, 0, sizeof *rows);
}

/* --- points ---------------------------------------------------------------------------------- */

clarke_status
clarke_witness_init(clarke_witness *w, size_t dim, clarke_error *err)
{
  w->large = false;
  fmpz_mat_init(w->exact, (slong)dim, 1);
  w->x = calloc(dim + 1, sizeof *w->x);
  return w->x != NULL ? CLARKE_OK : clarke_no_memory(err);
}

void
clarke_witness_clear(clarke_witness *w)
{
  if (w->x != NULL)
    fmpz_mat_clear(w->exact);
  free(w->x);
  memset(w, 0, sizeof *w);
}

void
clarke_witness_set(clarke_witness *w, const clarke_witness *from, size_t dim)
{
  memcpy(w->x, from->x, dim * sizeof *w->x);
  w->large = from->large;
  if (from->large)
    fmpz_mat_set(w->exact, from->exact);
}

/* The doubles of large entries are scaled together, so that none is infinite. */
void
clarke_witness_set_exact(clarke_witness *w, const fmpz_mat_t column)
{
  const slong dim = fmpz_mat_nrows(column);
  slong most = 0;

  for (slong j = 0; j < dim; j++)
    most = fmpz_bits(fmpz_mat_entry(column, j, 0)) > (flint_bitcnt_t)most ? (slong)fmpz_bits(fmpz_mat_entry(column, j, 0)) : most;
  w->large = most > 52;
  for (slong j = 0; j < dim; j++) {
    slong e;
    const double m = fmpz_get_d_2exp(&e, fmpz_mat_entry(column, j, 0));

    w->x[j] = ldexp(m, (int)(w->large ? (e - most < -900 ? -900 : e - most) : e));
  }
  if (w->large)
    fmpz_mat_set(w->exact, column);
}

void
clarke_witness_get(fmpz_t entry, const clarke_witness *w, size_t j)
{
  if (w->large)
    fmpz_set(entry, fmpz_mat_entry(w->exact, (slong)j, 0));
  else
    fmpz_set_d(entry, w->x[j]);
}

/* --- signs ----------------------------------------------------------------------------------- */

static int
exact_sign(const clarke_rows *rows, size_t i, const clarke_witness *w)
{
  fmpz_t sum, entry;
  int sign;

  fmpz_init(sum);
  fmpz_init(entry);
  for (size_t j = 0; j < rows->dim; j++) {
    clarke_witness_get(entry, w, j);
    fmpz_addmul(sum, entry, fmpz_mat_entry(rows->exact, (slong)i, (slong)j));
  }
  sign = fmpz_sgn(sum);
  fmpz_clear(entry);
  fmpz_clear(sum);
  return sign;
}

/* A sum of dim products, each off by at most 10 * 2^-52 of itself, is off by less than (dim + 10) * 2^-52 times the sum of
 * their sizes (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1), and what underflow takes. */
int
clarke_rows_sign(const clarke_rows *rows, size_t i, const clarke_witness *w)
{
  const double *unit = clarke_rows_unit(rows, i);
  double sum = 0, size = 0, bound;

  if (w->large)
    return exact_sign(rows, i, w);
  for (size_t j = 0; j < rows->dim; j++) {
    const double term = unit[j] * w->x[j];

    sum += term;
    size += fabs(term);
  }
  bound = clarke_taken(2 * ((double)rows->dim + 10), size) + 0x1p-700;
  if (fabs(sum) > bound)
    return sum > 0 ? 1 : -1;
  return exact_sign(rows, i, w);
}
