/* The strict cone by exact pivots (cone_block.h), for systems whose margin floats cannot see.
 *
 * Phase one of the simplex method for u >= 0, B^T u = 0, sum u = 1, on a tableau of integers over
 * one common denominator, the last pivot (Edmonds 1967; Bareiss 1968): entries are minors of the
 * starting matrix, so every division is exact and their size is bounded. If the artificials reach 0
 * the basis is a Gordan vector; if not, their multipliers pi give B x >= pi_last > 0 for x = -pi.
 * Largest coefficients choose the pivots; during a stall, Bland's rule, which does not cycle. Numbers grow
 * from pivot to pivot, so each pivot is charged with its entries and their length. */
#include "exact/cone_pivot.h"

#include "base/stop.h"
#include "exact/cone_block.h"

#include <flint/fmpz.h>
#include <stdlib.h>

/* Bytes that the tableau may grow to. */
#define ROOM ((double)((size_t)1 << 29))

typedef struct {
  slong rows, cols; /* constraints; columns of u, which artificials and the right side follow */
  fmpz_mat_t t;     /* rows + 1, the last being reduced costs */
  fmpz_t den;
  slong *basis; /* of each row */
} tableau;

static bool
tableau_init(tableau *s, const fmpz_mat_t b)
{
  s->rows = fmpz_mat_ncols(b) + 1;
  s->cols = fmpz_mat_nrows(b);
  s->basis = malloc((size_t)s->rows * sizeof *s->basis);
  if (s->basis == NULL)
    return false;
  fmpz_init_set_ui(s->den, 1);
  fmpz_mat_init(s->t, s->rows + 1, s->cols + s->rows + 1);
  for (slong i = 0; i < s->rows; i++) {
    fmpz_one(fmpz_mat_entry(s->t, i, s->cols + i));
    s->basis[i] = s->cols + i;
  }
  fmpz_one(fmpz_mat_entry(s->t, s->rows - 1, s->cols + s->rows));
  for (slong j = 0; j < s->cols; j++)
    for (slong i = 0; i < s->rows; i++) {
      fmpz *entry = fmpz_mat_entry(s->t, i, j), *price = fmpz_mat_entry(s->t, s->rows, j);

      if (i + 1 < s->rows)
        fmpz_set(entry, fmpz_mat_entry(b, j, i));
      else
        fmpz_one(entry);
      fmpz_sub(price, price, entry);
    }
  fmpz_set_si(fmpz_mat_entry(s->t, s->rows, s->cols + s->rows), -1);
  return true;
}

static void
tableau_clear(tableau *s)
{
  free(s->basis);
  fmpz_clear(s->den);
  fmpz_mat_clear(s->t);
}

/* A column of negative reduced cost: the least, or the first; -1 if there is none. */
static slong
entering(const tableau *s, bool first)
{
  slong best = -1;

  for (slong j = 0; j < s->cols; j++) {
    const fmpz *price = fmpz_mat_entry(s->t, s->rows, j);

    if (fmpz_sgn(price) >= 0)
      continue;
    if (first)
      return j;
    if (best < 0 || fmpz_cmp(price, fmpz_mat_entry(s->t, s->rows, best)) < 0)
      best = j;
  }
  return best;
}

/* The row of the smallest ratio right side / entry over positive entries of column q; among equals
 * the one of the smallest basic variable. */
static slong
leaving(const tableau *s, slong q)
{
  const slong right = s->cols + s->rows;
  slong best = -1;
  fmpz_t x, y;

  fmpz_init(x);
  fmpz_init(y);
  for (slong i = 0; i < s->rows; i++) {
    int order;

    if (fmpz_sgn(fmpz_mat_entry(s->t, i, q)) <= 0)
      continue;
    if (best < 0) {
      best = i;
      continue;
    }
    fmpz_mul(x, fmpz_mat_entry(s->t, i, right), fmpz_mat_entry(s->t, best, q));
    fmpz_mul(y, fmpz_mat_entry(s->t, best, right), fmpz_mat_entry(s->t, i, q));
    order = fmpz_cmp(x, y);
    if (order < 0 || (order == 0 && s->basis[i] < s->basis[best]))
      best = i;
  }
  fmpz_clear(x);
  fmpz_clear(y);
  return best;
}

static void
pivot(tableau *s, slong p, slong q)
{
  const fmpz *at = fmpz_mat_entry(s->t, p, q);
  fmpz_t factor;

  fmpz_init(factor);
  for (slong i = 0; i <= s->rows; i++) {
    if (i == p)
      continue;
    fmpz_set(factor, fmpz_mat_entry(s->t, i, q));
    for (slong j = 0; j <= s->cols + s->rows; j++) {
      fmpz *entry = fmpz_mat_entry(s->t, i, j);

      fmpz_mul(entry, entry, at);
      fmpz_submul(entry, factor, fmpz_mat_entry(s->t, p, j));
      fmpz_divexact(entry, entry, s->den);
    }
  }
  fmpz_set(s->den, at);
  s->basis[p] = q;
  fmpz_clear(factor);
}

/* What a pivot takes: two products and an exact division an entry, each quadratic in their words. */
static uint64_t
pivot_work(const tableau *s)
{
  const slong bits = fmpz_mat_max_bits(s->t);
  const uint64_t words = (uint64_t)(bits < 0 ? -bits : bits) / FLINT_BITS + 1;

  return (uint64_t)(s->rows + 1) * (uint64_t)(s->cols + s->rows + 1) * (4 + 2 * words + words * words / 8);
}

/* Pivots to the optimum; false when the work is used up. */
static bool
optimize(tableau *s, uint64_t work)
{
  slong stalled = 0;

  for (;;) {
    const slong q = entering(s, stalled > 20);
    const uint64_t each = pivot_work(s);
    slong p;

    if (q < 0)
      return true;
    p = leaving(s, q);
    if (p < 0 || each > work) /* no row: cannot be, phase one is bounded */
      return false;
    work -= each;
    clarke_work_spend(each);
    stalled = fmpz_is_zero(fmpz_mat_entry(s->t, p, s->cols + s->rows)) ? stalled + 1 : 0;
    pivot(s, p, q);
  }
}

/* u from a basis without artificials of positive value; d from the multipliers otherwise. */
static clarke_cone_answer
read_answer(fmpz_mat_t d, fmpz_mat_t u, const tableau *s)
{
  const slong right = s->cols + s->rows;

  if (fmpz_is_zero(fmpz_mat_entry(s->t, s->rows, right))) {
    fmpz_mat_zero(u);
    for (slong i = 0; i < s->rows; i++)
      if (s->basis[i] < s->cols)
        fmpz_set(fmpz_mat_entry(u, s->basis[i], 0), fmpz_mat_entry(s->t, i, right));
    return CLARKE_CONE_EMPTY;
  }
  for (slong k = 0; k + 1 < s->rows; k++)
    fmpz_sub(fmpz_mat_entry(d, k, 0), fmpz_mat_entry(s->t, s->rows, s->cols + k), s->den);
  return CLARKE_CONE_FEASIBLE;
}

clarke_status
clarke_cone_pivot(clarke_cone_answer *answer, fmpz_mat_t d, fmpz_mat_t u, const fmpz_mat_t b, uint64_t work,
                  clarke_error *err)
{
  const slong bits = fmpz_mat_max_bits(b);
  const double rows = (double)fmpz_mat_ncols(b) + 2, cols = (double)fmpz_mat_nrows(b) + rows;
  tableau s;

  *answer = CLARKE_CONE_UNKNOWN;
  if (rows * cols * (16 + rows * (double)(bits < 0 ? -bits : bits) / 8) > ROOM)
    return CLARKE_OK;
  if (!tableau_init(&s, b))
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for a tableau");
  if (optimize(&s, work))
    *answer = read_answer(d, u, &s);
  tableau_clear(&s);
  if ((*answer == CLARKE_CONE_FEASIBLE && !clarke_cone_strict(b, d))
      || (*answer == CLARKE_CONE_EMPTY && !clarke_cone_gordan(b, u)))
    *answer = CLARKE_CONE_UNKNOWN;
  return CLARKE_OK;
}
