/* Has a face points on the other side of a form, too? A strict cone in one more dimension. */
#include "exact/face_side.h"
#include "exact/number.h"
#include "exact/wolfe.h"

#include <flint/fmpz.h>
#include <stdlib.h>
#include <string.h>

/* The strict forms and side * reduced, homogeneous in the free entries and t > 0. */
static clarke_status
homogeneous(fmpz_mat_t a, const clarke_face *f, mpq_t *reduced, int side, const size_t *column,
            clarke_error *err)
{
  size_t width = f->dim + 1, cols = (size_t)fmpz_mat_ncols(a), rows = f->n_strict + 2;
  mpq_t *row = clarke_rationals(cols);
  fmpz_mat_t line;
  fmpz_t common;

  if (row == NULL)
    return clarke_no_memory(err);
  fmpz_mat_init(line, 1, (slong)cols);
  fmpz_init(common);
  for (size_t i = 0; i < rows; i++) {
    mpq_t *form = i < f->n_strict ? &f->strict[i * width] : reduced;

    for (size_t k = 0; k < cols; k++) {
      mpq_set_ui(row[k], k + 1 == cols, 1); /* the last row: t itself */
      if (i + 1 < rows)
        mpq_set(row[k], form[column[k]]);
      if (i == f->n_strict && side < 0)
        mpq_neg(row[k], row[k]);
    }
    clarke_integers(line, common, row);
    for (size_t k = 0; k < cols; k++)
      fmpz_set(fmpz_mat_entry(a, (slong)i, (slong)k), fmpz_mat_entry(line, 0, (slong)k));
  }
  fmpz_mat_clear(line);
  fmpz_clear(common);
  clarke_rationals_free(row, cols);
  return CLARKE_OK;
}

/* point = d / t in the free entries. */
static void
dehomogenize(mpq_t *point, const clarke_face *f, const fmpz_mat_t d, const size_t *column)
{
  slong last = fmpz_mat_nrows(d) - 1;

  for (slong k = 0; k < last; k++) {
    mpq_t *x = &point[column[k]];

    fmpz_get_mpz(mpq_numref(*x), fmpz_mat_entry(d, k, 0));
    fmpz_get_mpz(mpq_denref(*x), fmpz_mat_entry(d, last, 0));
    mpq_canonicalize(*x);
  }
  clarke_face_complete(point, f);
}

/* The columns of entries that are no pivots, and the constant's. */
static size_t *
free_columns(const clarke_face *f)
{
  size_t *column = malloc((f->dim + 1) * sizeof *column), n = 0;

  for (size_t j = 0; column != NULL && j <= f->dim; j++) {
    bool pivot = false;

    for (size_t i = 0; i < f->n_equal && !pivot; i++)
      pivot = f->pivot[i] == j;
    if (!pivot)
      column[n++] = j;
  }
  return column;
}

clarke_status
clarke_face_side(clarke_cone_answer *answer, mpq_t *point, const clarke_face *f, mpq_t *reduced, int side,
                 clarke_error *err)
{
  slong rows = (slong)f->n_strict + 2, cols = (slong)(f->dim + 1 - f->n_equal);
  size_t *column = free_columns(f);
  clarke_cone cone;
  fmpz_mat_t a;
  clarke_status status;

  if (column == NULL)
    return clarke_no_memory(err);
  clarke_cone_init(&cone);
  fmpz_mat_init(a, rows, cols);
  status = homogeneous(a, f, reduced, side, column, err);
  if (status == CLARKE_OK)
    status = clarke_cone_solve(&cone, a, CLARKE_CONE_WORK, err);
  *answer = cone.answer;
  if (status == CLARKE_OK && cone.answer == CLARKE_CONE_FEASIBLE)
    dehomogenize(point, f, cone.d, column);
  fmpz_mat_clear(a);
  clarke_cone_clear(&cone);
  free(column);
  return status;
}
