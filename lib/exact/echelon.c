/* Elimination modulo a prime (echelon.h). */
#include "exact/echelon.h"

#include "exact/matrix_inside.h"

#include <flint/ulong_extras.h>
#include <stdlib.h>
#include <string.h>

#define UNREDUCED 15 /* products of residues, beside the first, that fit in 64 bits */

static inline uint64_t
reduce(const clarke_echelon *e, uint64_t x)
{
  x -= (uint64_t)((clarke_uint128)x * e->inverse >> 64) * e->p;
  while (x >= e->p)
    x -= e->p;
  return x;
}

static void
reduce_all(const clarke_echelon *e, uint64_t *v)
{
  for (size_t j = 0; j < e->cols; j++)
    v[j] = reduce(e, v[j]);
}

/* v += factor * basis row k; v[j] stays below 2^64 for UNREDUCED calls after reduce_all. */
static void
add_multiple(const clarke_echelon *e, uint64_t *restrict v, uint32_t factor, size_t k)
{
  const uint32_t *restrict b = e->basis + k * e->cols;

  for (size_t j = 0; j < e->cols; j++)
    v[j] += (uint64_t)factor * b[j];
}

/* Reduces the residues v of a row by the basis and, if something is left, adds it. */
static void
echelon_add(clarke_echelon *e, uint64_t *v, size_t row)
{
  size_t pivot = 0, pending = 0;
  uint64_t inverse;
  uint32_t *b;

  for (size_t k = 0; k < e->rank; k++) {
    const uint64_t lead = reduce(e, v[e->col[k]]);

    if (lead == 0)
      continue;
    if (pending == UNREDUCED) {
      reduce_all(e, v);
      pending = 0;
    }
    add_multiple(e, v, (uint32_t)(e->p - lead), k);
    pending++;
  }
  reduce_all(e, v);
  while (pivot < e->cols && v[pivot] == 0)
    pivot++;
  if (pivot == e->cols)
    return;
  inverse = n_invmod(v[pivot], e->p);
  b = e->basis + e->rank * e->cols;
  for (size_t j = 0; j < e->cols; j++)
    b[j] = (uint32_t)reduce(e, v[j] * inverse);
  e->row[e->rank] = row;
  e->col[e->rank] = pivot;
  e->rank++;
}

void
clarke_echelon_null(const clarke_echelon *e, uint32_t *x, size_t free_col)
{
  memset(x, 0, e->cols * sizeof *x);
  x[free_col] = 1;
  for (size_t k = e->rank; k-- > 0;) {
    const uint32_t *b = e->basis + k * e->cols;
    uint64_t sum = 0;

    for (size_t j = 0; j < e->cols; j++)
      sum = (sum >> 63 ? reduce(e, sum) : sum) + (uint64_t)b[j] * x[j];
    sum = reduce(e, sum);
    x[e->col[k]] = sum == 0 ? 0 : (uint32_t)(e->p - sum);
  }
}

/* Null vectors of the basis, so that a dependent row costs cols - rank products of vectors and not
 * `rank` multiples of them. Without memory for them nothing changes. */
static void
find_null_modular(clarke_echelon *e)
{
  bool *pivot = calloc(e->cols + 1, sizeof *pivot);
  size_t found = 0;

  free(e->null);
  e->null = malloc(((e->cols - e->rank) * e->cols + 1) * sizeof *e->null);
  if (pivot != NULL && e->null != NULL) {
    for (size_t k = 0; k < e->rank; k++)
      pivot[e->col[k]] = true;
    for (size_t j = 0; j < e->cols; j++)
      if (!pivot[j])
        clarke_echelon_null(e, e->null + found++ * e->cols, j);
    e->null_rank = e->rank;
  }
  free(pivot);
}

/* Is the row of residues orthogonal to all null vectors, that is in the span of the basis? */
static bool
in_span(const clarke_echelon *e, const uint64_t *v)
{
  for (size_t k = 0; k < e->cols - e->rank; k++) {
    const uint32_t *x = e->null + k * e->cols;
    uint64_t sum = 0;

    for (size_t j = 0; j < e->cols; j++)
      sum = (sum >> 63 ? reduce(e, sum) : sum) + v[j] * x[j];
    if (reduce(e, sum) != 0)
      return false;
  }
  return true;
}

/* Adds the rows in turn. Rows found dependent announce more of them: null vectors, each of which
 * costs about as much to find as a row to reduce, are worth it if they are few beside the rank, the
 * rows left and the dependent rows seen. */
static void
add_rows(clarke_echelon *e, uint64_t *residue, size_t rows, size_t full)
{
  for (size_t i = 0; i < rows && e->rank < full; i++) {
    uint64_t *v = residue + i * e->cols;
    const size_t before = e->rank, null = e->cols - e->rank;

    if (e->null_rank == e->rank && in_span(e, v))
      continue;
    echelon_add(e, v, i);
    e->dependent += e->rank == before;
    if (e->rank == before && 2 * null < e->rank && 2 * null < rows - i && 2 * e->dependent > null) {
      find_null_modular(e);
      e->dependent = 0;
    }
  }
}

void
clarke_echelon_clear(clarke_echelon *e)
{
  free(e->basis);
  free(e->null);
  if (e->pivots_lent)
    return;
  free(e->row);
  free(e->col);
}

clarke_status
clarke_echelon_make(clarke_echelon *e, const clarke_matrix *a, uint64_t p, clarke_error *err)
{
  const size_t full = a->rows < a->cols ? a->rows : a->cols;
  uint64_t *residue = malloc((a->rows * a->cols + 1) * sizeof *residue);

  *e = (clarke_echelon){ .p = p, .inverse = (uint64_t)(((clarke_uint128)1 << 64) / p), .cols = a->cols,
                  .null_rank = SIZE_MAX };
  e->basis = malloc((full * a->cols + 1) * sizeof *e->basis);
  e->row = malloc((full + 1) * sizeof *e->row);
  e->col = malloc((full + 1) * sizeof *e->col);
  if (residue == NULL || e->basis == NULL || e->row == NULL || e->col == NULL) {
    free(residue);
    clarke_echelon_clear(e);
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for the rank of a %zu x %zu matrix", a->rows,
                       a->cols);
  }
  clarke_matrix_residues(residue, a, p);
  add_rows(e, residue, a->rows, full);
  free(residue);
  return CLARKE_OK;
}
