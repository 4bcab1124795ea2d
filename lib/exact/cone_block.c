/* One block of a strict cone: cheap guesses, independent rows, then the linear program, and integers
 * to confirm each of them (cone_block.h). */
#include "exact/cone_block.h"

#include "base/stop.h"
#include "exact/cone_norm.h"
#include "exact/cone_simplex.h"
#include "exact/rank.h"
#include "exact/rank_inside.h"

#include <flint/fmpz.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- in integers ----------------------------------------------------------------------------- */

bool
clarke_cone_strict(const fmpz_mat_t b, const fmpz_mat_t d)
{
  const slong rows = fmpz_mat_nrows(b), cols = fmpz_mat_ncols(b);
  bool positive = true;
  fmpz_t sum;

  fmpz_init(sum);
  for (slong i = 0; i < rows && positive; i++) {
    fmpz_zero(sum);
    for (slong j = 0; j < cols; j++)
      fmpz_addmul(sum, fmpz_mat_entry(b, i, j), fmpz_mat_entry(d, j, 0));
    positive = fmpz_sgn(sum) > 0;
  }
  fmpz_clear(sum);
  return positive;
}

bool
clarke_cone_gordan(const fmpz_mat_t b, const fmpz_mat_t u)
{
  const slong rows = fmpz_mat_nrows(b), cols = fmpz_mat_ncols(b);
  bool zero = true;
  fmpz_mat_t sum;

  for (slong i = 0; i < rows; i++)
    if (fmpz_sgn(fmpz_mat_entry(u, i, 0)) < 0)
      return false;
  if (fmpz_mat_is_zero(u))
    return false;
  fmpz_mat_init(sum, 1, cols);
  for (slong i = 0; i < rows; i++) {
    if (fmpz_is_zero(fmpz_mat_entry(u, i, 0)))
      continue;
    for (slong j = 0; j < cols; j++)
      fmpz_addmul(fmpz_mat_entry(sum, 0, j), fmpz_mat_entry(b, i, j), fmpz_mat_entry(u, i, 0));
  }
  zero = fmpz_mat_is_zero(sum);
  fmpz_mat_clear(sum);
  return zero;
}

/* --- in floats ------------------------------------------------------------------------------- */

void
clarke_cone_floats_clear(clarke_cone_floats *f)
{
  free(f->scaled);
  free(f->row_exp);
  free(f->col_exp);
  f->scaled = NULL;
  f->row_exp = f->col_exp = NULL;
}

/* Divides by powers of two so that the largest entry of each row, then of each column, is in
 * [1/2, 1]. */
static void
scale_floats(clarke_cone_floats *f, const fmpz_mat_t b)
{
  for (size_t i = 0; i < f->rows; i++)
    for (size_t j = 0; j < f->cols; j++) {
      const long e = (long)fmpz_bits(fmpz_mat_entry(b, (slong)i, (slong)j));

      f->row_exp[i] = e > f->row_exp[i] ? e : f->row_exp[i];
    }
  for (size_t j = 0; j < f->cols; j++) {
    f->col_exp[j] = -1000;
    for (size_t i = 0; i < f->rows; i++) {
      const long e = (long)fmpz_bits(fmpz_mat_entry(b, (slong)i, (slong)j)) - f->row_exp[i];

      if (!fmpz_is_zero(fmpz_mat_entry(b, (slong)i, (slong)j)) && e > f->col_exp[j])
        f->col_exp[j] = e;
    }
  }
  for (size_t i = 0; i < f->rows; i++)
    for (size_t j = 0; j < f->cols; j++) {
      slong e;
      const double m = fmpz_get_d_2exp(&e, fmpz_mat_entry(b, (slong)i, (slong)j));
      const long shift = (long)e - f->row_exp[i] - f->col_exp[j];

      f->scaled[i * f->cols + j] = ldexp(m, shift < -2000 ? -2000 : (int)shift);
    }
}

clarke_status
clarke_cone_floats_init(clarke_cone_floats *f, const fmpz_mat_t b, clarke_error *err)
{
  f->rows = (size_t)fmpz_mat_nrows(b);
  f->cols = (size_t)fmpz_mat_ncols(b);
  f->scaled = malloc((f->rows * f->cols + 1) * sizeof *f->scaled);
  f->row_exp = calloc(f->rows + 1, sizeof *f->row_exp);
  f->col_exp = calloc(f->cols + 1, sizeof *f->col_exp);
  if (f->scaled == NULL || f->row_exp == NULL || f->col_exp == NULL) {
    clarke_cone_floats_clear(f);
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for a cone of %zu rows, %zu columns",
                       f->rows, f->cols);
  }
  scale_floats(f, b);
  return CLARKE_OK;
}

bool
clarke_cone_round(fmpz_mat_t d, const fmpz_mat_t b, const clarke_cone_floats *f, const double *x)
{
  static const int bits[] = { 8, 16, 24, 32, 53 };
  long high = 0;
  double most = 0;
  int e;

  /* d_j = x_j 2^(high - col_exp_j) up to a common factor: integers, for high >= col_exp_j */
  for (size_t j = 0; j < f->cols; j++) {
    most = fabs(x[j]) > most ? fabs(x[j]) : most;
    high = j == 0 || f->col_exp[j] > high ? f->col_exp[j] : high;
  }
  if (!(most > 0) || !isfinite(most))
    return false;
  frexp(most, &e);
  for (size_t k = 0; k < sizeof bits / sizeof bits[0]; k++) {
    for (size_t j = 0; j < f->cols; j++) {
      fmpz *entry = fmpz_mat_entry(d, (slong)j, 0);

      fmpz_set_d(entry, rint(ldexp(x[j], bits[k] - 1 - e)));
      fmpz_mul_2exp(entry, entry, (ulong)(high - f->col_exp[j]));
    }
    if (clarke_cone_strict(b, d))
      return true;
  }
  return false;
}

/* --- cheap guesses --------------------------------------------------------------------------- */

/* The sum of the unit rows; all ones; all minus ones. */
static bool
guess_direction(fmpz_mat_t d, const fmpz_mat_t b, const clarke_cone_floats *f, double *x)
{
  memset(x, 0, f->cols * sizeof *x);
  for (size_t i = 0; i < f->rows; i++) {
    const double *row = f->scaled + i * f->cols;
    double norm = 0;

    for (size_t j = 0; j < f->cols; j++)
      norm += row[j] * row[j];
    for (size_t j = 0; j < f->cols && norm > 0; j++)
      x[j] += row[j] / sqrt(norm);
  }
  if (clarke_cone_round(d, b, f, x))
    return true;
  for (int sign = 1; sign >= -1; sign -= 2) {
    for (slong j = 0; j < (slong)f->cols; j++)
      fmpz_set_si(fmpz_mat_entry(d, j, 0), sign);
    if (clarke_cone_strict(b, d))
      return true;
  }
  return false;
}

/* Replaces an exact direction by a short rounding of it, when that does as well. */
static void
shorten(fmpz_mat_t d, const fmpz_mat_t b, const clarke_cone_floats *f, double *x)
{
  fmpz_mat_t rounded;
  long most = 0;

  fmpz_mat_init(rounded, (slong)f->cols, 1);
  for (size_t j = 0; j < f->cols; j++) {
    const long e = (long)fmpz_bits(fmpz_mat_entry(d, (slong)j, 0)) + f->col_exp[j];

    most = j == 0 || e > most ? e : most;
  }
  for (size_t j = 0; j < f->cols; j++) {
    slong e;
    const double m = fmpz_get_d_2exp(&e, fmpz_mat_entry(d, (slong)j, 0));
    const long shift = (long)e + f->col_exp[j] - most;

    x[j] = ldexp(m, shift < -2000 ? -2000 : (int)shift);
  }
  if (clarke_cone_round(rounded, b, f, x))
    fmpz_mat_swap(d, rounded);
  fmpz_mat_clear(rounded);
}

/* B has independent rows, of which the pivots are known: solves B d = 2^row_exp. */
static bool
solve_independent(fmpz_mat_t d, const fmpz_mat_t b, const clarke_cone_floats *f,
                  const clarke_rank *r, double *x)
{
  const slong n = (slong)r->rank;
  fmpz_mat_t minor, right, solution;
  bool solved;
  fmpz_t den;

  fmpz_mat_init(minor, n, n);
  fmpz_mat_init(right, n, 1);
  fmpz_mat_init(solution, n, 1);
  fmpz_init(den);
  for (slong i = 0; i < n; i++) {
    for (slong j = 0; j < n; j++)
      fmpz_set(fmpz_mat_entry(minor, i, j), fmpz_mat_entry(b, i, (slong)r->col[j]));
    fmpz_one(fmpz_mat_entry(right, i, 0));
    fmpz_mul_2exp(fmpz_mat_entry(right, i, 0), fmpz_mat_entry(right, i, 0), (ulong)f->row_exp[i]);
  }
  solved = fmpz_mat_solve_dixon_den(solution, den, minor, right);
  fmpz_mat_zero(d);
  for (slong j = 0; j < n && solved; j++) {
    fmpz *entry = fmpz_mat_entry(d, (slong)r->col[j], 0);

    fmpz_set(entry, fmpz_mat_entry(solution, j, 0));
    if (fmpz_sgn(den) < 0)
      fmpz_neg(entry, entry);
  }
  solved = solved && clarke_cone_strict(b, d);
  if (solved)
    shorten(d, b, f, x);
  fmpz_clear(den);
  fmpz_mat_clear(minor);
  fmpz_mat_clear(right);
  fmpz_mat_clear(solution);
  return solved;
}

/* --- the Gordan side ------------------------------------------------------------------------- */

/* u from the null vector of the chosen rows, transposed, over the chosen columns, if there is just
 * one and all its entries have one sign. */
static bool
gordan_on(fmpz_mat_t u, const fmpz_mat_t b, const bool *row, const bool *col)
{
  const slong rows = fmpz_mat_nrows(b), cols = fmpz_mat_ncols(b);
  slong m = 0, n = 0, k = 0;
  clarke_matrix words;
  fmpz_mat_t part;
  clarke_rank r;
  bool found;

  for (slong i = 0; i < rows; i++)
    m += row[i];
  for (slong j = 0; j < cols; j++)
    n += col == NULL || col[j];
  if (m < 2)
    return false;
  fmpz_mat_init(part, n, m);
  clarke_matrix_init(&words);
  clarke_rank_init(&r);
  for (slong i = 0; i < rows; i++) {
    if (!row[i])
      continue;
    for (slong j = 0, l = 0; j < cols; j++)
      if (col == NULL || col[j])
        fmpz_set(fmpz_mat_entry(part, l++, k), fmpz_mat_entry(b, i, j));
    k++;
  }
  found = clarke_matrix_set_fmpz_mat(&words, part, NULL) == CLARKE_OK
          && clarke_rank_only_null(&r, &words, NULL) == CLARKE_OK
          && fmpz_mat_ncols(r.null) == 1;
  fmpz_mat_zero(u);
  for (slong i = 0, l = 0; i < rows && found; i++) {
    if (!row[i])
      continue;
    fmpz_set(fmpz_mat_entry(u, i, 0), fmpz_mat_entry(r.null, l++, 0));
  }
  for (slong i = 0; i < rows && found; i++)
    if (fmpz_sgn(fmpz_mat_entry(u, i, 0)) < 0) {
      fmpz_mat_neg(u, u);
      break;
    }
  found = found && clarke_cone_gordan(b, u);
  fmpz_mat_clear(part);
  clarke_matrix_clear(&words);
  clarke_rank_clear(&r);
  return found;
}

/* First on the rows whose dual value is clearly positive, then on the whole basis. */
static bool
gordan_from(fmpz_mat_t u, const fmpz_mat_t b, const clarke_cone_guess *g, bool *support)
{
  const size_t rows = (size_t)fmpz_mat_nrows(b);
  double most = 0;

  for (size_t i = 0; i < rows; i++)
    most = g->dual[i] > most ? g->dual[i] : most;
  for (size_t i = 0; i < rows; i++)
    support[i] = g->dual[i] > most * 1e-7;
  return gordan_on(u, b, support, NULL) || gordan_on(u, b, g->active, g->basic);
}

/* --- the linear program ---------------------------------------------------------------------- */

/* One float solve, and what its guess proves. */
static clarke_status
attempt(clarke_cone_answer *answer, fmpz_mat_t d, fmpz_mat_t u, const fmpz_mat_t b, const clarke_cone_floats *f,
        clarke_cone_guess *g, double tolerance, uint64_t work, clarke_error *err)
{
  bool *support, found;
  clarke_status status = clarke_cone_simplex(&found, g, f, tolerance, work, err);

  *answer = CLARKE_CONE_UNKNOWN;
  if (status != CLARKE_OK || !found)
    return status;
  if (clarke_cone_round(d, b, f, g->x)) {
    *answer = CLARKE_CONE_FEASIBLE;
    return CLARKE_OK;
  }
  support = malloc((f->rows + 1) * sizeof *support);
  if (support == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for a cone of %zu rows", f->rows);
  if (gordan_from(u, b, g, support))
    *answer = CLARKE_CONE_EMPTY;
  free(support);
  return CLARKE_OK;
}

/* B of full column rank: floats at two tolerances, then the least norm. */
static clarke_status
solve_program(clarke_cone_answer *answer, fmpz_mat_t d, fmpz_mat_t u, const fmpz_mat_t b,
              uint64_t work, clarke_error *err)
{
  static const double tolerances[] = { 1e-9, 1e-12 };
  clarke_cone_floats f;
  clarke_cone_guess g;
  clarke_status status = clarke_cone_floats_init(&f, b, err);

  *answer = CLARKE_CONE_UNKNOWN;
  if (status != CLARKE_OK)
    return status;
  status = clarke_cone_guess_init(&g, f.rows, f.cols, err);
  if (status == CLARKE_OK) {
    for (int k = 0; k < 2 && *answer == CLARKE_CONE_UNKNOWN && status == CLARKE_OK; k++)
      status = attempt(answer, d, u, b, &f, &g, tolerances[k], work, err);
    if (*answer == CLARKE_CONE_UNKNOWN && status == CLARKE_OK)
      status = clarke_cone_norm(answer, d, u, b, work, err);
    clarke_cone_guess_clear(&g);
  }
  clarke_cone_floats_clear(&f);
  return status;
}

/* The program on the pivot columns alone: the others are combinations of them, modulo a prime at
 * least, which the checks against all of B confirm. */
static clarke_status
solve_on_pivots(clarke_cone_answer *answer, fmpz_mat_t d, fmpz_mat_t u, const fmpz_mat_t b,
                const clarke_rank *r, uint64_t work, clarke_error *err)
{
  const slong rows = fmpz_mat_nrows(b), cols = (slong)r->rank;
  fmpz_mat_t part, short_d;
  clarke_status status;

  fmpz_mat_init(part, rows, cols);
  fmpz_mat_init(short_d, cols, 1);
  for (slong i = 0; i < rows; i++)
    for (slong j = 0; j < cols; j++)
      fmpz_set(fmpz_mat_entry(part, i, j), fmpz_mat_entry(b, i, (slong)r->col[j]));
  status = solve_program(answer, short_d, u, part, work, err);
  fmpz_mat_zero(d);
  for (slong j = 0; j < cols; j++)
    fmpz_swap(fmpz_mat_entry(d, (slong)r->col[j], 0), fmpz_mat_entry(short_d, j, 0));
  if (status == CLARKE_OK && *answer == CLARKE_CONE_EMPTY && !clarke_cone_gordan(b, u))
    *answer = CLARKE_CONE_UNKNOWN;
  fmpz_mat_clear(part);
  fmpz_mat_clear(short_d);
  return status;
}

/* After the cheap guesses: independent rows, or the program. */
static clarke_status
solve_by_rank(clarke_cone_answer *answer, fmpz_mat_t d, fmpz_mat_t u, const fmpz_mat_t b,
              const clarke_cone_floats *f, double *x, uint64_t work, clarke_error *err)
{
  clarke_matrix words;
  clarke_rank r;
  clarke_status status;

  clarke_matrix_init(&words);
  clarke_rank_init(&r);
  status = clarke_matrix_set_fmpz_mat(&words, b, err);
  if (status == CLARKE_OK)
    status = clarke_rank_eliminate(&r, &words, CLARKE_RANK_PRIME, err);
  clarke_matrix_clear(&words);
  if (status == CLARKE_OK && r.rank == f->rows && solve_independent(d, b, f, &r, x))
    *answer = CLARKE_CONE_FEASIBLE;
  else if (status == CLARKE_OK)
    status = solve_on_pivots(answer, d, u, b, &r, work, err);
  clarke_rank_clear(&r);
  return status;
}

clarke_status
clarke_cone_block(clarke_cone_answer *answer, fmpz_mat_t d, fmpz_mat_t u, const fmpz_mat_t b,
                  uint64_t work, clarke_error *err)
{
  clarke_cone_floats f;
  clarke_status status;
  double *x;

  *answer = CLARKE_CONE_FEASIBLE;
  if (fmpz_mat_nrows(b) == 1) {
    fmpz_mat_transpose(d, b);
    return CLARKE_OK;
  }
  status = clarke_work_check(err);
  if (status != CLARKE_OK)
    return status;
  status = clarke_cone_floats_init(&f, b, err);
  if (status != CLARKE_OK)
    return status;
  x = malloc((f.cols + 1) * sizeof *x);
  if (x == NULL)
    status = clarke_fail(err, CLARKE_ENOMEM, "no memory for a direction of %zu entries", f.cols);
  else if (!guess_direction(d, b, &f, x))
    status = solve_by_rank(answer, d, u, b, &f, x, work, err);
  free(x);
  clarke_cone_floats_clear(&f);
  return status;
}
