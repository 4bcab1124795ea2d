#include "audit/system.h"
#include "base/verify.h"

#include <stdlib.h>
#include <string.h>

/* Columns seen by a block: the distinct ones, increasing. */
typedef struct {
  size_t n;
  size_t *column;
} column_set;

static int
compare_sizes(const void *a, const void *b)
{
  size_t x = *(const size_t *)a, y = *(const size_t *)b;

  return x < y ? -1 : x > y;
}

static clarke_status
distinct_columns(column_set *set, const clarke_row *row, const size_t *rows, size_t n_rows,
                 clarke_error *err)
{
  size_t total = 0, kept = 0;

  for (size_t i = 0; i < n_rows; i++)
    total += row[rows[i]].n;
  set->column = malloc((total + 1) * sizeof *set->column);
  if (set->column == NULL)
    return clarke_no_memory(err);
  total = 0;
  for (size_t i = 0; i < n_rows; i++) {
    if (row[rows[i]].n > 0)
      memcpy(set->column + total, row[rows[i]].column, row[rows[i]].n * sizeof *set->column);
    total += row[rows[i]].n;
  }
  qsort(set->column, total, sizeof *set->column, compare_sizes);
  for (size_t i = 0; i < total; i++)
    if (kept == 0 || set->column[kept - 1] != set->column[i])
      set->column[kept++] = set->column[i];
  set->n = kept;
  return CLARKE_OK;
}

static size_t
position(const column_set *set, size_t column)
{
  const size_t *found = bsearch(&column, set->column, set->n, sizeof column, compare_sizes);

  return (size_t)(found - set->column);
}

/* A row times the positive integer that makes it integral: its scale in *scale. */
static void
integral_row(fmpz_mat_t a, size_t i, const clarke_row *row, const column_set *set, mpz_t scale)
{
  mpz_t entry;

  mpz_init(entry);
  mpz_set_ui(scale, 1);
  for (size_t e = 0; e < row->n; e++)
    mpz_lcm(scale, scale, mpq_denref(row->value[e]));
  for (size_t e = 0; e < row->n; e++) {
    mpz_divexact(entry, scale, mpq_denref(row->value[e]));
    mpz_mul(entry, entry, mpq_numref(row->value[e]));
    fmpz_set_mpz(fmpz_mat_entry(a, (long)i, (long)position(set, row->column[e])), entry);
  }
  mpz_clear(entry);
}

static clarke_status
add_moves(clarke_direction *d, const fmpz_mat_t x, const column_set *set, const clarke_graph *g,
          clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  size_t p = 0;
  mpq_t coef;

  mpq_init(coef);
  for (size_t c = 0; c < set->n && status == CLARKE_OK; c++) {
    size_t entry = clarke_column_entry(&p, set->column[c], g);

    if (fmpz_is_zero(fmpz_mat_entry(x, (long)c, 0)))
      continue;
    fmpz_get_mpz(mpq_numref(coef), fmpz_mat_entry(x, (long)c, 0));
    status = clarke_direction_move(d, CLARKE_MOVE_AT, p, entry, coef, err);
  }
  mpq_clear(coef);
  return status;
}

/* One block; its rows are row[rows[0..n_rows-1]]. */
static clarke_status
solve_block(clarke_cone_answer *answer, clarke_direction *d, mpq_t *u, const clarke_row *row,
            const size_t *rows, size_t n_rows, const clarke_graph *g, clarke_error *err)
{
  column_set set = {0, NULL};
  clarke_cone cone;
  mpz_t *scale;
  fmpz_mat_t a;
  clarke_status status = distinct_columns(&set, row, rows, n_rows, err);

  *answer = CLARKE_CONE_UNKNOWN;
  if (status != CLARKE_OK || set.n > CLARKE_SYSTEM_LIMIT / n_rows) {
    free(set.column);
    return status;
  }
  scale = malloc(n_rows * sizeof *scale);
  if (scale == NULL) {
    free(set.column);
    return clarke_no_memory(err);
  }
  /* A zero row alone has no columns; FLINT's matrices want one. */
  fmpz_mat_init(a, (long)n_rows, set.n > 0 ? (long)set.n : 1);
  for (size_t i = 0; i < n_rows; i++) {
    mpz_init(scale[i]);
    integral_row(a, i, &row[rows[i]], &set, scale[i]);
  }
  clarke_cone_init(&cone);
  status = clarke_cone_solve(&cone, a, CLARKE_CONE_WORK, err);
  *answer = cone.answer;
  if (status == CLARKE_OK && cone.answer == CLARKE_CONE_FEASIBLE && d != NULL)
    status = add_moves(d, cone.d, &set, g, err);
  for (size_t i = 0; i < n_rows; i++) {
    if (status == CLARKE_OK && cone.answer == CLARKE_CONE_EMPTY && u != NULL) {
      fmpz_get_mpz(mpq_numref(u[rows[i]]), fmpz_mat_entry(cone.u, (long)i, 0));
      mpz_mul(mpq_numref(u[rows[i]]), mpq_numref(u[rows[i]]), scale[i]);
    }
    mpz_clear(scale[i]);
  }
  clarke_cone_clear(&cone);
  fmpz_mat_clear(a);
  free(scale);
  free(set.column);
  return status;
}

static size_t
root(size_t *parent, size_t i)
{
  while (parent[i] != i)
    i = parent[i] = parent[parent[i]];
  return i;
}

typedef struct {
  size_t column, row;
} incidence;

static int
compare_incidences(const void *a, const void *b)
{
  const incidence *x = a, *y = b;

  return x->column < y->column ? -1 : x->column > y->column;
}

clarke_status
clarke_system_blocks(size_t *parent, const clarke_row *row, size_t n_rows, clarke_error *err)
{
  size_t total = 0, at = 0;
  incidence *list;

  for (size_t i = 0; i < n_rows; i++) {
    parent[i] = i;
    total += row[i].n;
  }
  list = malloc((total + 1) * sizeof *list);
  if (list == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < n_rows; i++)
    for (size_t e = 0; e < row[i].n; e++)
      list[at++] = (incidence){row[i].column[e], i};
  qsort(list, total, sizeof *list, compare_incidences);
  for (size_t e = 1; e < total; e++)
    if (list[e].column == list[e - 1].column) {
      size_t a = root(parent, list[e - 1].row), b = root(parent, list[e].row);

      parent[a < b ? b : a] = a < b ? a : b;
    }
  free(list);
  for (size_t i = 0; i < n_rows; i++)
    parent[i] = root(parent, i);
  return CLARKE_OK;
}

/* Every block must be feasible; one empty block refutes. */
static clarke_status
solve_blocks(clarke_cone_answer *answer, clarke_direction *d, mpq_t *u, const clarke_row *row,
             size_t n_rows, const size_t *block, size_t *rows, const clarke_graph *g,
             clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  *answer = CLARKE_CONE_FEASIBLE;
  for (size_t b = 0; b < n_rows && status == CLARKE_OK; b++) {
    clarke_cone_answer one;
    size_t n = 0;

    if (block[b] != b)
      continue;
    for (size_t i = 0; i < n_rows; i++)
      if (block[i] == b)
        rows[n++] = i;
    status = solve_block(&one, d, u, row, rows, n, g, err);
    if (one == CLARKE_CONE_EMPTY) {
      *answer = one;
      return status;
    }
    if (one == CLARKE_CONE_UNKNOWN)
      *answer = one;
  }
  return status;
}

clarke_status
clarke_system_solve(clarke_cone_answer *answer, clarke_direction *d, mpq_t *u,
                    const clarke_row *row, size_t n_rows, const clarke_graph *g,
                    clarke_error *err)
{
  size_t *block = malloc((n_rows + 1) * sizeof *block);
  size_t *rows = malloc((n_rows + 1) * sizeof *rows);
  clarke_status status;

  for (size_t i = 0; i < n_rows; i++) {
    CLARKE_VERIFY_CHECK(clarke_row_is_valid(&row[i]));
    if (u != NULL)
      mpq_set_ui(u[i], 0, 1);
  }
  status = block != NULL && rows != NULL ? clarke_system_blocks(block, row, n_rows, err)
                                         : clarke_no_memory(err);
  if (status == CLARKE_OK)
    status = solve_blocks(answer, d, u, row, n_rows, block, rows, g, err);
  free(block);
  free(rows);
  return status;
}
