/* Take one kink after the other from AD's slope to a cell's, from the loss back. Each adds u f r to AD's gradient: u is the loss's derivative
 * by its output, with the cell's slopes behind it; r, rational, is a positive number f less than what the cell's slope has over AD's, times
 * the gradient of the kink's argument, with AD's slopes before it. So what the cells change lies in the span of the r, of dimension d.
 * Where d + 1 changes have a combination of positive weights that is zero in d coordinates which tell the span's vectors apart, it is zero. */
#include "check/kernel/changes.h"
#include "check/base/allocate.h"
#include "check/kernel/gradient.h"
#include "check/kernel/names.h"
#include "check/kernel/window.h"

#include <stdlib.h>

typedef struct {
  const changes *q;
  size_t n_columns, *column; /* entries of the parameters where a row is not 0 */
  bool *in_row;              /* of each entry of the parameters */
  size_t rank, *pivot;       /* columns */
  rational **basis;          /* basis[i], by column, is 1 at pivot[i] and 0 at those before */
  interval factor;           /* what the last row was divided by */
  interval *change;          /* [cell * rank + pivot]: what it adds to AD's gradient there */
} span;

/* ---- The span */

/* Is option o of kink j taken, by a cell or by AD? (Of a kink: has a cell another slope than AD?) */
static bool
in_play(const changes *q, size_t j, size_t o)
{
  const touch *t = &q->p->touched[q->of[j]];
  bool any = is_window(t) && mpq_sgn(&q->ad[t->slope + o]) != 0;
  for (size_t i = 0; i < q->n_cells && !any; i++)
    any = !mpq_equal(&q->slope[i][t->slope + o], is_window(t) ? &zero : &q->ad[t->slope]);
  return any;
}

/* Does the loss depend on kink j, in some cell? */
static bool
matters(const changes *q, size_t j)
{
  bool any = false;
  for (size_t i = 0; i < q->n_cells && !any; i++)
    any = !interval_zero(&q->adjoint[i][q->of[j]]);
  return any;
}

/* Hands the rows of kink j to work, row o of each: its argument's gradient, or what each of a window's options in play has over
 * the first that is. */
static void
for_each_row(span *b, size_t j, void (*work)(span *b, size_t j, size_t o))
{
  const changes *q = b->q;
  const touch *t = &q->p->touched[q->of[j]];
  size_t first = is_window(t) ? NONE : 0;
  if (!matters(q, j))
    return;
  for (size_t o = 0; o < t->n; o++) {
    if (!in_play(q, j, o))
      continue;
    if (first == NONE) {
      first = o;
      continue;
    }
    kink_row_and_factor(q->p, q->ad, q->c, q->of[j], o, first, &b->factor);
    work(b, j, o);
  }
}

static void
note_columns(span *b, size_t j, size_t o)
{
  const network *net = b->q->p->net;
  (void)j;
  (void)o;
  for (size_t i = 0; i < net->n_wrt; i++) {
    if (b->in_row[i] || mpq_sgn(&net->gradient[i]) == 0)
      continue;
    b->column = grow(b->column, b->n_columns, sizeof *b->column);
    b->column[b->n_columns++] = i;
    b->in_row[i] = true;
  }
}

/* Adds the row to the basis unless it is in the span already. */
static void
extend(span *b, size_t j, size_t o)
{
  const network *net = b->q->p->net;
  rational *x = rationals(b->n_columns);
  size_t first = 0;
  RATIONAL(by);
  (void)j;
  (void)o;
  for (size_t i = 0; i < b->n_columns; i++)
    mpq_set(&x[i], &net->gradient[b->column[i]]);
  for (size_t r = 0; r < b->rank; r++) {
    mpq_neg(&by, &x[b->pivot[r]]);
    for (size_t i = 0; i < b->n_columns && mpq_sgn(&by) != 0; i++) {
      add_multiple(&x[i], &by, &b->basis[r][i]);
      mpq_canonicalize(&x[i]);
    }
  }
  while (first < b->n_columns && mpq_sgn(&x[first]) == 0)
    first++;
  if (first == b->n_columns) {
    rationals_free(x, b->n_columns);
    return;
  }
  require(b->rank + 1 < b->q->n_cells, "%zu cells, for changes of a larger dimension", b->q->n_cells);
  mpq_inv(&by, &x[first]);
  for (size_t i = 0; i < b->n_columns; i++)
    mpq_mul(&x[i], &x[i], &by);
  b->basis = grow(b->basis, b->rank, sizeof *b->basis);
  b->pivot = grow(b->pivot, b->rank, sizeof *b->pivot);
  b->basis[b->rank] = x;
  b->pivot[b->rank++] = first;
}

static void
add_change(span *b, size_t j, size_t o)
{
  const changes *q = b->q;
  const size_t at = q->p->touched[q->of[j]].slope + o;
  RATIONAL(by);
  RATIONAL(x);
  for (size_t i = 0; i < q->n_cells; i++) {
    INTERVAL(u);
    interval_mul(&u, &q->adjoint[i][q->of[j]], &b->factor);
    mpq_sub(&by, &q->slope[i][at], &q->ad[at]);
    for (size_t r = 0; r < b->rank; r++) {
      mpq_mul(&x, &by, &q->p->net->gradient[b->column[b->pivot[r]]]);
      interval_add(&b->change[i * b->rank + r], &u, &x);
    }
  }
}

/* ---- Weights */

/* y -= a b */
static void
subtract_product(interval *y, const interval *a, const interval *b)
{
  INTERVAL(t);
  interval_mul(&t, a, b);
  interval_add(y, &t, &minus_one);
  interval_round(y);
}

/* Some weights of the cells, that of cell 0 being 1 and all positive, make their changes cancel: Gauss's elimination, in
 * intervals, of the n equations in n unknowns. Column i of the equations is cell i + 1, column -1 cell 0. */
static void
solve_weights(const span *b)
{
  const size_t n = b->rank;
  interval **column = allocate(n + 1, sizeof *column);
  for (size_t i = 0; i <= n; i++)
    column[i] = &b->change[i * n];
  for (size_t i = 0; i < n; i++) {
    size_t from = i;
    while (from < n && mpq_sgn(&column[i + 1][from].lo) <= 0 && mpq_sgn(&column[i + 1][from].hi) >= 0)
      from++;
    if (from == n)
      leave(UNDECIDED, "cannot tell with intervals of %d bits whether cells span a simplex", MAX_BITS);
    for (size_t j = 0; j <= n; j++) {
      interval t = column[j][i];
      column[j][i] = column[j][from];
      column[j][from] = t;
    }
    for (size_t r = 0; r < n; r++) {
      INTERVAL(by);
      if (r == i)
        continue;
      interval_div(&by, &column[i + 1][r], &column[i + 1][i]);
      subtract_product(&column[0][r], &by, &column[0][i]);
      for (size_t j = i + 2; j <= n; j++)
        subtract_product(&column[j][r], &by, &column[j][i]);
    }
  }
  for (size_t i = 0; i < n; i++) {
    interval_div(&column[0][i], &column[0][i], &column[i + 1][i]);
    require(interval_sign(&column[0][i], "whether AD's output is inside a simplex of cells") < 0,
            "AD's output is not inside the simplex of cells");
  }
  free(column);
}

void
require_balance(const changes *of)
{
  span all = {.q = of, .in_row = allocate(of->p->net->n_wrt, sizeof *all.in_row), .factor = interval_nought()},
       *b = &all;
  for (size_t j = 0; j < of->n; j++)
    for_each_row(b, j, note_columns);
  for (size_t j = 0; j < of->n; j++)
    for_each_row(b, j, extend);
  require(of->n_cells == b->rank + 1, "%zu cells, for changes of dimension %zu", of->n_cells, b->rank);
  b->change = intervals(of->n_cells * b->rank);
  for (size_t j = 0; j < of->n; j++)
    for_each_row(b, j, add_change);
  for (size_t i = 0; i < of->n_cells * b->rank; i++)
    interval_round(&b->change[i]);
  solve_weights(b);
  intervals_free(b->change, of->n_cells * b->rank);
  interval_clear(&b->factor);
  free(b->in_row);
}
