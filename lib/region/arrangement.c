/* Arrangements as rows (arrangement.h). */
#include "region/arrangement.h"

#include <flint/fmpq.h>
#include <flint/fmpz.h>
#include <flint/fmpz_vec.h>
#include <stdlib.h>
#include <string.h>

/* --- columns --------------------------------------------------------------------------------- */

/* Column j as a primitive integer row of dim entries; the offset, turned, is its last. */
static void
set_column(fmpz *row, const clarke_arrangement *a, mpq_t *v, mpq_t *t, size_t j)
{
  const size_t dim = a->n + a->affine;
  fmpz_t scale;
  fmpq_t q;

  fmpq_init(q);
  fmpz_init_set_ui(scale, 1);
  for (size_t i = 0; i < dim; i++) {
    fmpq_set_mpq(q, i < a->n ? v[i * a->p + j] : t[j]);
    fmpz_lcm(scale, scale, fmpq_denref(q));
  }
  for (size_t i = 0; i < dim; i++) {
    fmpq_set_mpq(q, i < a->n ? v[i * a->p + j] : t[j]);
    fmpz_divexact(row + i, scale, fmpq_denref(q));
    fmpz_mul(row + i, row + i, fmpq_numref(q));
  }
  if (a->affine)
    fmpz_neg(row + a->n, row + a->n);
  _fmpz_vec_content(scale, row, (slong)dim);
  if (!fmpz_is_zero(scale))
    _fmpz_vec_scalar_divexact_fmpz(row, row, (slong)dim, scale);
  fmpz_clear(scale);
  fmpq_clear(q);
}

/* 1: equal; -1: opposite; 0: neither. */
static int
compare_directions(fmpz *a, const fmpz *b, size_t dim)
{
  bool equal, opposite;

  equal = _fmpz_vec_equal(a, b, (slong)dim);
  _fmpz_vec_neg(a, a, (slong)dim);
  opposite = _fmpz_vec_equal(a, b, (slong)dim);
  _fmpz_vec_neg(a, a, (slong)dim);
  return equal ? 1 : opposite ? -1 : 0;
}

/* The column's row among those of `all`, which grows by it when it is new. */
static void
place_column(clarke_arrangement *a, fmpz_mat_t all, size_t *n_rows, const fmpz *row, size_t j)
{
  const size_t dim = (size_t)fmpz_mat_ncols(all);

  a->row[j] = CLARKE_NO_ROW;
  a->turn[j] = 0;
  if (_fmpz_vec_is_zero(row, (slong)dim))
    return;
  for (size_t k = 0; k < *n_rows && a->turn[j] == 0; k++) {
    a->row[j] = k;
    a->turn[j] = (signed char)compare_directions(fmpz_mat_entry(all, (slong)k, 0), row, dim);
  }
  if (a->turn[j] != 0)
    return;
  a->row[j] = *n_rows;
  a->turn[j] = 1;
  a->first[*n_rows] = j;
  _fmpz_vec_set(fmpz_mat_entry(all, (slong)*n_rows, 0), row, (slong)dim);
  (*n_rows)++;
}

/* Distinct rows, none the opposite of another; of an affine arrangement (0, 1) first. */
static size_t
place_columns(clarke_arrangement *a, fmpz_mat_t all, mpq_t *v, mpq_t *t)
{
  const size_t dim = a->n + a->affine;
  fmpz *row = _fmpz_vec_init((slong)dim + 1);
  size_t n_rows = 0;

  if (a->affine) {
    fmpz_one(fmpz_mat_entry(all, 0, (slong)a->n));
    a->first[n_rows++] = a->p;
  }
  for (size_t j = 0; j < a->p; j++) {
    set_column(row, a, v, t, j);
    place_column(a, all, &n_rows, row, j);
    if (a->affine && a->row[j] == 0) /* 0 but for its offset */
      a->row[j] = CLARKE_NO_ROW;
  }
  _fmpz_vec_clear(row, (slong)dim + 1);
  return n_rows;
}

/* --- the rank -------------------------------------------------------------------------------- */

/* The coordinates that are kept: the pivots of an echelon form. The others can be 0, for the products with all rows are
 * combinations of these coordinates' columns. */
static clarke_status
keep_coordinates(clarke_arrangement *a, const fmpz_mat_t all, clarke_error *err)
{
  const slong n_rows = fmpz_mat_nrows(all), dim = fmpz_mat_ncols(all);
  fmpz_mat_t echelon;
  fmpz_t den;
  slong at = 0;

  a->kept = malloc(((size_t)dim + 1) * sizeof *a->kept);
  if (a->kept == NULL)
    return clarke_no_memory(err);
  fmpz_init(den);
  fmpz_mat_init(echelon, n_rows, dim);
  a->rank = (size_t)fmpz_mat_rref(echelon, den, all);
  for (size_t k = 0; k < a->rank; k++, at++) {
    while (fmpz_is_zero(fmpz_mat_entry(echelon, (slong)k, at)))
      at++;
    a->kept[k] = (size_t)at;
  }
  fmpz_mat_clear(echelon);
  fmpz_clear(den);
  return CLARKE_OK;
}

static clarke_status
make_rows(clarke_arrangement *a, const fmpz_mat_t all, clarke_error *err)
{
  const slong n_rows = fmpz_mat_nrows(all);
  fmpz_mat_t low;
  clarke_status status = keep_coordinates(a, all, err);

  if (status != CLARKE_OK)
    return status;
  fmpz_mat_init(low, n_rows, (slong)a->rank);
  for (slong i = 0; i < n_rows; i++)
    for (size_t k = 0; k < a->rank; k++)
      fmpz_set(fmpz_mat_entry(low, i, (slong)k), fmpz_mat_entry(all, i, (slong)a->kept[k]));
  status = clarke_rows_init(&a->rows, low, err);
  fmpz_mat_clear(low);
  return status;
}

/* --- the arrangement ------------------------------------------------------------------------- */

clarke_status
clarke_arrangement_init(clarke_arrangement *a, size_t n, size_t p, mpq_t *v, mpq_t *t, clarke_error *err)
{
  fmpz_mat_t all, some;
  size_t n_rows;
  clarke_status status;

  memset(a, 0, sizeof *a);
  if (n > CLARKE_ARRANGEMENT_ROWS || p > CLARKE_ARRANGEMENT_COLUMNS)
    return clarke_fail(err, CLARKE_ENOMEM, "%zu hyperplanes in dimension %zu; at most %zu in %zu are supported", p, n,
                       CLARKE_ARRANGEMENT_COLUMNS, CLARKE_ARRANGEMENT_ROWS);
  a->n = n;
  a->p = p;
  a->affine = t != NULL;
  a->row = malloc((p + 1) * sizeof *a->row);
  a->turn = malloc(p + 1);
  a->first = malloc((p + 1) * sizeof *a->first);
  if (a->row == NULL || a->turn == NULL || a->first == NULL)
    return clarke_no_memory(err);
  fmpz_mat_init(all, (slong)p + 2, (slong)(n + a->affine));
  n_rows = place_columns(a, all, v, t);
  fmpz_mat_window_init(some, all, 0, 0, (slong)n_rows, (slong)(n + a->affine));
  status = make_rows(a, some, err);
  fmpz_mat_window_clear(some);
  fmpz_mat_clear(all);
  return status;
}

void
clarke_arrangement_clear(clarke_arrangement *a)
{
  clarke_rows_clear(&a->rows);
  free(a->row);
  free(a->turn);
  free(a->first);
  free(a->kept);
  memset(a, 0, sizeof *a);
}

clarke_status
clarke_arrangement_enumerate(clarke_sign_tree *tree, const clarke_arrangement *a, const clarke_sign_visitor *visitor,
                             clarke_error *err)
{
  return clarke_sign_vectors(tree, &a->rows, a->rows.n > 0 ? 1 : 0, NULL, visitor, err);
}

size_t
clarke_arrangement_count(const clarke_arrangement *a, size_t leaves)
{
  return a->affine || a->rows.n == 0 ? leaves : 2 * leaves;
}

int
clarke_arrangement_sign(const clarke_arrangement *a, const signed char *row_sign, size_t column)
{
  return a->row[column] == CLARKE_NO_ROW ? a->turn[column] : a->turn[column] * row_sign[a->row[column]];
}

void
clarke_arrangement_point(fmpz *point, const clarke_arrangement *a, const clarke_witness *w)
{
  _fmpz_vec_zero(point, (slong)(a->n + a->affine));
  for (size_t k = 0; k < a->rank; k++)
    clarke_witness_get(point + a->kept[k], w, k);
}
