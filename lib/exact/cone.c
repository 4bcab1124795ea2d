/* The strict cone of a whole system (cone.h): rows made primitive and distinct, zero rows and
 * opposite pairs refuted at once, the rest split into blocks that share no column. */
#include "exact/cone.h"

#include "base/stop.h"
#include "exact/cone_block.h"

#include <flint/fmpz.h>
#include <flint/fmpz_vec.h>
#include <stdlib.h>

void
clarke_cone_init(clarke_cone *cone)
{
  cone->answer = CLARKE_CONE_UNKNOWN;
  cone->blocks = 0;
  fmpz_mat_init(cone->d, 0, 0);
  fmpz_mat_init(cone->u, 0, 0);
}

void
clarke_cone_clear(clarke_cone *cone)
{
  fmpz_mat_clear(cone->d);
  fmpz_mat_clear(cone->u);
  cone->answer = CLARKE_CONE_UNKNOWN;
}

/* --- distinct primitive rows ----------------------------------------------------------------- */

/* Row i of A is content[i] * sign[i] * canonical row i: content > 0 (0 for a zero row), and a
 * canonical row is primitive with its first nonzero entry positive. */
typedef struct {
  slong rows, cols;
  fmpz_mat_t canonical;
  fmpz *content;
  int *sign;
  bool *kept;   /* one row of each set of positive multiples */
  slong *root;  /* of each column: the least column of its block; -1 for a zero column */
} cone_system;

static void
make_canonical(cone_system *s, const fmpz_mat_t a, slong i)
{
  fmpz *content = s->content + i;
  slong first = 0;

  for (slong j = 0; j < s->cols && !fmpz_is_one(content); j++)
    fmpz_gcd(content, content, fmpz_mat_entry(a, i, j));
  while (first < s->cols && fmpz_is_zero(fmpz_mat_entry(a, i, first)))
    first++;
  s->sign[i] = first < s->cols ? fmpz_sgn(fmpz_mat_entry(a, i, first)) : 0;
  for (slong j = first; j < s->cols; j++) {
    fmpz *entry = fmpz_mat_entry(s->canonical, i, j);

    fmpz_divexact(entry, fmpz_mat_entry(a, i, j), content);
    if (s->sign[i] < 0)
      fmpz_neg(entry, entry);
  }
}

static clarke_status
system_init(cone_system *s, const fmpz_mat_t a, clarke_error *err)
{
  const size_t rows = (size_t)fmpz_mat_nrows(a), cols = (size_t)fmpz_mat_ncols(a);

  s->rows = (slong)rows;
  s->cols = (slong)cols;
  s->sign = calloc(rows + 1, sizeof *s->sign);
  s->kept = calloc(rows + 1, sizeof *s->kept);
  s->root = calloc(cols + 1, sizeof *s->root);
  s->content = _fmpz_vec_init(s->rows + 1);
  fmpz_mat_init(s->canonical, s->rows, s->cols);
  if (s->sign == NULL || s->kept == NULL || s->root == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for a cone of %zu rows, %zu columns", rows,
                       cols);
  for (slong i = 0; i < s->rows; i++)
    make_canonical(s, a, i);
  return CLARKE_OK;
}

static void
system_clear(cone_system *s)
{
  free(s->sign);
  free(s->kept);
  free(s->root);
  _fmpz_vec_clear(s->content, s->rows + 1);
  fmpz_mat_clear(s->canonical);
}

typedef struct {
  const fmpz *entry;
  slong cols, index;
  int sign;
} sortable;

static int
compare_canonical(const sortable *x, const sortable *y)
{
  for (slong j = 0; j < x->cols; j++) {
    const int order = fmpz_cmp(x->entry + j, y->entry + j);

    if (order != 0)
      return order;
  }
  return 0;
}

static int
compare_sortable(const void *left, const void *right)
{
  const sortable *x = left, *y = right;
  const int order = compare_canonical(x, y);

  if (order != 0)
    return order;
  if (x->sign != y->sign)
    return x->sign < y->sign ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

/* Sorts the rows and keeps the first of each set of positive multiples. A zero row, or an opposite
 * pair, goes to *p and *q (equal for a zero row), else both are -1. */
static clarke_status
sort_rows(cone_system *s, slong *p, slong *q, clarke_error *err)
{
  sortable *row = malloc(((size_t)s->rows + 1) * sizeof *row);

  *p = *q = -1;
  if (row == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory to sort %ld rows", (long)s->rows);
  for (slong i = 0; i < s->rows; i++)
    row[i] = (sortable){ fmpz_mat_entry(s->canonical, i, 0), s->cols, i, s->sign[i] };
  qsort(row, (size_t)s->rows, sizeof *row, compare_sortable);
  for (slong k = 0; k < s->rows; k++) {
    const bool same = k > 0 && compare_canonical(row + k - 1, row + k) == 0;

    s->kept[row[k].index] = !same || row[k - 1].sign != row[k].sign;
    if (row[k].sign == 0) {
      *p = *q = row[k].index;
    } else if (same && row[k - 1].sign != row[k].sign) {
      *p = row[k - 1].index;
      *q = row[k].index;
    }
    if (*p >= 0)
      break;
  }
  free(row);
  return CLARKE_OK;
}

/* u for a zero row p = q, or an opposite pair. */
static void
refute_pair(fmpz_mat_t u, const cone_system *s, slong p, slong q)
{
  fmpz_t common;

  fmpz_mat_zero(u);
  if (p == q) {
    fmpz_one(fmpz_mat_entry(u, p, 0));
    return;
  }
  fmpz_init(common);
  fmpz_gcd(common, s->content + p, s->content + q);
  fmpz_divexact(fmpz_mat_entry(u, p, 0), s->content + q, common);
  fmpz_divexact(fmpz_mat_entry(u, q, 0), s->content + p, common);
  fmpz_clear(common);
}

/* --- blocks ---------------------------------------------------------------------------------- */

static slong
find_root(slong *root, slong j)
{
  while (root[j] != j) {
    root[j] = root[root[j]];
    j = root[j];
  }
  return j;
}

static slong
first_column(const cone_system *s, slong i)
{
  slong j = 0;

  while (j < s->cols && fmpz_is_zero(fmpz_mat_entry(s->canonical, i, j)))
    j++;
  return j;
}

/* Joins the columns of each row; returns the number of blocks with a row. */
static size_t
join_columns(cone_system *s)
{
  size_t blocks = 0;

  for (slong j = 0; j < s->cols; j++)
    s->root[j] = j;
  for (slong i = 0; i < s->rows; i++) {
    const slong first = first_column(s, i);

    for (slong j = first; j < s->cols; j++) {
      slong x, y;

      if (fmpz_is_zero(fmpz_mat_entry(s->canonical, i, j)))
        continue;
      x = find_root(s->root, first);
      y = find_root(s->root, j);
      s->root[x > y ? x : y] = x < y ? x : y;
    }
  }
  for (slong j = 0; j < s->cols; j++) {
    bool used = false;

    s->root[j] = find_root(s->root, j);
    if (s->root[j] != j)
      continue;
    for (slong i = 0; i < s->rows && !used; i++)
      used = !fmpz_is_zero(fmpz_mat_entry(s->canonical, i, j));
    blocks += used;
    if (!used)
      s->root[j] = -1;
  }
  return blocks;
}

/* One block: its rows (kept ones) and columns, by their numbers in the system. */
typedef struct {
  slong rows, cols;
  slong *row, *col;
} cone_part;

static void
collect_part(cone_part *part, const cone_system *s, const slong *row_root, slong root)
{
  part->rows = part->cols = 0;
  for (slong i = 0; i < s->rows; i++)
    if (s->kept[i] && row_root[i] == root)
      part->row[part->rows++] = i;
  for (slong j = 0; j < s->cols; j++)
    if (s->root[j] == root)
      part->col[part->cols++] = j;
}

/* d on the block's columns, from its own. */
static void
place_d(clarke_cone *cone, const cone_part *part, const fmpz_mat_t d)
{
  for (slong l = 0; l < part->cols; l++)
    fmpz_set(fmpz_mat_entry(cone->d, part->col[l], 0), fmpz_mat_entry(d, l, 0));
}

/* u on the block's rows and 0 elsewhere: weights of primitive rows become weights of rows of A. */
static void
place_u(clarke_cone *cone, const cone_system *s, const cone_part *part, const fmpz_mat_t u)
{
  fmpz_t multiple;

  fmpz_init_set_ui(multiple, 1);
  for (slong k = 0; k < part->rows; k++)
    if (!fmpz_is_zero(fmpz_mat_entry(u, k, 0)))
      fmpz_lcm(multiple, multiple, s->content + part->row[k]);
  fmpz_mat_zero(cone->u);
  for (slong k = 0; k < part->rows; k++) {
    fmpz *entry = fmpz_mat_entry(cone->u, part->row[k], 0);

    if (fmpz_is_zero(fmpz_mat_entry(u, k, 0)))
      continue;
    fmpz_divexact(entry, multiple, s->content + part->row[k]);
    fmpz_mul(entry, entry, fmpz_mat_entry(u, k, 0));
  }
  fmpz_clear(multiple);
}

static clarke_status
solve_part(clarke_cone *cone, const cone_system *s, const cone_part *part,
           clarke_cone_answer *answer, uint64_t work, clarke_error *err)
{
  fmpz_mat_t b, d, u;
  clarke_status status;

  fmpz_mat_init(b, part->rows, part->cols);
  fmpz_mat_init(d, part->cols, 1);
  fmpz_mat_init(u, part->rows, 1);
  for (slong k = 0; k < part->rows; k++)
    for (slong l = 0; l < part->cols; l++)
      fmpz_mul_si(fmpz_mat_entry(b, k, l),
                  fmpz_mat_entry(s->canonical, part->row[k], part->col[l]),
                  s->sign[part->row[k]]);
  status = clarke_cone_block(answer, d, u, b, work, err);
  if (status == CLARKE_OK && *answer == CLARKE_CONE_FEASIBLE)
    place_d(cone, part, d);
  if (status == CLARKE_OK && *answer == CLARKE_CONE_EMPTY)
    place_u(cone, s, part, u);
  fmpz_mat_clear(b);
  fmpz_mat_clear(d);
  fmpz_mat_clear(u);
  return status;
}

/* The system is empty when a block is; feasible when all are. */
static clarke_status
solve_parts(clarke_cone *cone, const cone_system *s, uint64_t work, clarke_error *err)
{
  const size_t rows = (size_t)s->rows, cols = (size_t)s->cols;
  slong *row_root = malloc((rows + 1) * sizeof *row_root);
  cone_part part = { 0, 0, malloc((rows + 1) * sizeof *part.row),
                     malloc((cols + 1) * sizeof *part.col) };
  clarke_status status = CLARKE_OK;
  clarke_cone_answer all = CLARKE_CONE_FEASIBLE, one;

  if (row_root == NULL || part.row == NULL || part.col == NULL)
    status = clarke_fail(err, CLARKE_ENOMEM, "no memory for the blocks of %zu rows", rows);
  for (slong i = 0; i < s->rows && status == CLARKE_OK; i++)
    row_root[i] = s->root[first_column(s, i)];
  for (slong j = 0; j < s->cols && status == CLARKE_OK && all != CLARKE_CONE_EMPTY; j++) {
    if (s->root[j] != j)
      continue;
    collect_part(&part, s, row_root, j);
    status = solve_part(cone, s, &part, &one, work, err);
    if (one != CLARKE_CONE_FEASIBLE)
      all = one;
  }
  cone->answer = status == CLARKE_OK ? all : CLARKE_CONE_UNKNOWN;
  free(row_root);
  free(part.row);
  free(part.col);
  return status;
}

/* --- the cone -------------------------------------------------------------------------------- */

static clarke_status
solve_system(clarke_cone *cone, cone_system *s, uint64_t work, clarke_error *err)
{
  clarke_status status;
  slong p, q;

  status = sort_rows(s, &p, &q, err);
  if (status != CLARKE_OK)
    return status;
  cone->blocks = join_columns(s);
  if (p < 0)
    return solve_parts(cone, s, work, err);
  refute_pair(cone->u, s, p, q);
  cone->answer = CLARKE_CONE_EMPTY;
  return CLARKE_OK;
}

clarke_status
clarke_cone_solve(clarke_cone *cone, const fmpz_mat_t a, uint64_t work, clarke_error *err)
{
  cone_system system;
  clarke_status status;

  clarke_cone_clear(cone);
  clarke_cone_init(cone);
  status = clarke_work_check(err);
  if (status != CLARKE_OK)
    return status;
  fmpz_mat_clear(cone->d);
  fmpz_mat_clear(cone->u);
  fmpz_mat_init(cone->d, fmpz_mat_ncols(a), 1);
  fmpz_mat_init(cone->u, fmpz_mat_nrows(a), 1);
  clarke_work_spend((size_t)(fmpz_mat_nrows(a) * (fmpz_mat_ncols(a) + 4)) * 16);
  status = system_init(&system, a, err);
  if (status == CLARKE_OK)
    status = solve_system(cone, &system, work, err);
  system_clear(&system);
  if (status == CLARKE_OK && cone->answer != CLARKE_CONE_UNKNOWN && !clarke_cone_verify(cone, a))
    cone->answer = CLARKE_CONE_UNKNOWN;
  return status;
}

int
clarke_cone_verify(const clarke_cone *cone, const fmpz_mat_t a)
{
  switch (cone->answer) {
  case CLARKE_CONE_FEASIBLE:
    return fmpz_mat_nrows(cone->d) == fmpz_mat_ncols(a) && fmpz_mat_ncols(cone->d) == 1
           && clarke_cone_strict(a, cone->d);
  case CLARKE_CONE_EMPTY:
    return fmpz_mat_nrows(cone->u) == fmpz_mat_nrows(a) && fmpz_mat_ncols(cone->u) == 1
           && clarke_cone_gordan(a, cone->u);
  default:
    return 0;
  }
}
