/* The strict cone of many rows of which few decide (cone.h): those are found one at a time, each the worst row of the direction
 * that the ones before have in common (Dantzig, Fulkerson and Johnson 1954: only rows that are violated are written down). */
#include "exact/cone.h"

#include "base/stop.h"

#include <flint/fmpz.h>
#include <flint/fmpz_vec.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define MOST_FEW(cols) (32 + 8 * (cols)) /* rows: with more of them the whole system is no harder */

/* A number >= 0 of any size: m * 2^e, m = 0 or in [1/2, 1). */
typedef struct {
  double m;
  slong e;
} scaled;

typedef struct {
  const fmpz_mat_struct *a;
  slong n, most; /* rows that were found, and room */
  slong *row;
  scaled *size;  /* by row of a: its length, about */
} few;

static bool
is_more(scaled a, scaled b)
{
  if (a.m == 0 || b.m == 0)
    return a.m > b.m;
  return a.e != b.e ? a.e > b.e : a.m > b.m;
}

static scaled
normal(double m, slong e)
{
  int shift;

  m = frexp(m, &shift);
  return (scaled){ m, e + shift };
}

static scaled
length_of(const fmpz *row, slong n)
{
  const slong most = labs(_fmpz_vec_max_bits(row, n));
  double sum = 0;

  for (slong j = 0; j < n; j++) {
    slong e;
    const double m = fmpz_get_d_2exp(&e, row + j), part = ldexp(m, e - most < -900 ? -900 : (int)(e - most));

    sum += part * part;
  }
  return normal(sqrt(sum), most);
}

static clarke_status
few_init(few *f, const fmpz_mat_t a, clarke_error *err)
{
  f->a = a;
  f->n = 0;
  f->most = MOST_FEW(fmpz_mat_ncols(a));
  f->row = malloc((size_t)f->most * sizeof *f->row);
  f->size = malloc(((size_t)fmpz_mat_nrows(a) + 1) * sizeof *f->size);
  if (f->row == NULL || f->size == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for a cone of %ld rows", (long)fmpz_mat_nrows(a));
  for (slong i = 0; i < fmpz_mat_nrows(a); i++)
    f->size[i] = length_of(fmpz_mat_entry(a, i, 0), fmpz_mat_ncols(a));
  return CLARKE_OK;
}

static void
few_clear(few *f)
{
  free(f->row);
  free(f->size);
}

/* How far d is behind the row's hyperplane, about, however near it is: a product is rounded once it is known. Before it: *behind is
 * false. */
static scaled
depth_behind(bool *behind, const few *f, slong i, const fmpz_mat_t d, fmpz_t product)
{
  slong e;
  double m;

  fmpz_zero(product);
  for (slong j = 0; j < fmpz_mat_ncols(f->a); j++)
    fmpz_addmul(product, fmpz_mat_entry(f->a, i, j), fmpz_mat_entry(d, j, 0));
  *behind = fmpz_sgn(product) <= 0;
  if (fmpz_sgn(product) >= 0)
    return (scaled){ 0, 0 };
  m = -fmpz_get_d_2exp(&e, product);
  return normal(m / f->size[i].m, e - f->size[i].e);
}

/* The row whose hyperplane d is farthest behind, or on; -1: d is before them all. */
static slong
worst_row(const few *f, const fmpz_mat_t d)
{
  scaled most = { 0, 0 };
  slong worst = -1;
  fmpz_t product;

  fmpz_init(product);
  clarke_work_spend((size_t)(fmpz_mat_nrows(f->a) * (fmpz_mat_ncols(f->a) + 2)));
  for (slong i = 0; i < fmpz_mat_nrows(f->a); i++) {
    bool behind;
    const scaled depth = depth_behind(&behind, f, i, d, product);

    if (behind && (worst < 0 || is_more(depth, most))) {
      worst = i;
      most = depth;
    }
  }
  fmpz_clear(product);
  return worst;
}

/* The cone of the rows that were found. */
static clarke_status
solve_found(clarke_cone *part, const few *f, uint64_t work, clarke_error *err)
{
  fmpz_mat_t b;
  clarke_status status;

  fmpz_mat_init(b, f->n, fmpz_mat_ncols(f->a));
  for (slong k = 0; k < f->n; k++)
    _fmpz_vec_set(fmpz_mat_entry(b, k, 0), fmpz_mat_entry(f->a, f->row[k], 0), fmpz_mat_ncols(f->a));
  status = clarke_cone_solve(part, b, work, err);
  fmpz_mat_clear(b);
  return status;
}

/* What is empty for some rows is so for all, with weight 0 for the others. */
static void
place_weights(clarke_cone *cone, const clarke_cone *part, const few *f)
{
  fmpz_mat_clear(cone->u);
  fmpz_mat_init(cone->u, fmpz_mat_nrows(f->a), 1);
  for (slong k = 0; k < f->n; k++)
    fmpz_set(fmpz_mat_entry(cone->u, f->row[k], 0), fmpz_mat_entry(part->u, k, 0));
  cone->answer = CLARKE_CONE_EMPTY;
}

/* With the next worst row, until there is none, or the rows contradict each other, or there are too many of them. */
static clarke_status
add_rows(clarke_cone *cone, few *f, slong first, uint64_t work, clarke_error *err)
{
  clarke_cone part;
  clarke_status status = CLARKE_OK;

  clarke_cone_init(&part);
  for (slong row = first; row >= 0 && f->n < f->most && status == CLARKE_OK;) {
    f->row[f->n++] = row;
    status = solve_found(&part, f, work, err);
    row = -1;
    if (status == CLARKE_OK && part.answer == CLARKE_CONE_EMPTY)
      place_weights(cone, &part, f);
    else if (status == CLARKE_OK && part.answer == CLARKE_CONE_FEASIBLE && (row = worst_row(f, part.d)) < 0) {
      fmpz_mat_clear(cone->d);
      fmpz_mat_init_set(cone->d, part.d);
      cone->answer = CLARKE_CONE_FEASIBLE;
    }
  }
  clarke_cone_clear(&part);
  return status;
}

clarke_status
clarke_cone_solve_few(clarke_cone *cone, const fmpz_mat_t a, slong first, uint64_t work, clarke_error *err)
{
  few f;
  clarke_status status;

  clarke_cone_clear(cone);
  clarke_cone_init(cone);
  status = few_init(&f, a, err);
  if (status == CLARKE_OK && fmpz_mat_nrows(a) > f.most)
    status = add_rows(cone, &f, first, work, err);
  few_clear(&f);
  if (status == CLARKE_OK && cone->answer == CLARKE_CONE_UNKNOWN)
    status = clarke_cone_solve(cone, a, work, err);
  return status;
}
