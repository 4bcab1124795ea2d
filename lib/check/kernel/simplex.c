/* Simplices: the touched kinks of a block have arguments that are affine whatever sides are chosen, so none of them lies
 * behind another, and a direction moves each of them alike under all slopes. With u the loss's derivative by a
 * kink's output, AD's slopes taken, a cell of the block changes AD's gradient by the sum of u r: r, rational, is what its side's
 * derivative has over AD's. All these sums lie in the span of the r, of dimension d. Where d + 1 of them have a
 * combination of positive weights that is zero in d coordinates which tell the span's vectors apart, it is zero. */
#include "check/kernel/simplex.h"
#include "check/kernel/adjoint.h"
#include "check/base/allocate.h"
#include "check/kernel/cell.h"
#include "check/kernel/gradient.h"
#include "check/base/lines.h"
#include "check/kernel/names.h"
#include "check/kernel/window.h"

#include <stdlib.h>

typedef struct {
  size_t n_cells, n, *of;    /* of: its touched kinks */
  int **side;                /* by cell, then kink */
  size_t n_columns, *column; /* entries of the parameters where a row is not 0 */
  size_t rank, *pivot;       /* columns */
  rational **basis;          /* of the span: basis[i], by column, is 1 at pivot[i] and 0 at those before */
} block;

typedef struct {
  const point *p;
  const rational *ad;
  size_t *block_of; /* of each touched kink: 1 + its block's number; 0: it is in none */
  interval *adjoint;
  bool *in_row;     /* of each entry of the parameters */
  interval *change; /* [cell * rank + pivot]: what it adds to AD's gradient there */
} simplices;

/* ---- Blocks */

/* `block N K K ...`. open: settled with no sides. */
static void
read_block(simplices *q, block *b, size_t number, const cell *open, bool bouligand)
{
  next_line("block");
  b->n_cells = next_number();
  require(b->n_cells == 1 || !bouligand, "blocks of one cell each are expected for this verdict");
  do {
    size_t k = next_number();
    require(k < q->p->n_touched && q->block_of[k] == 0 && (b->n == 0 || k > b->of[b->n - 1]),
            "touched kinks in increasing order, each in one block, are expected");
    const touch *t = &q->p->touched[k];
    for (size_t o = 0; o < t->n; o++)
      require(open->degree[t->from][t->at[o]] < 2, "%s: its argument is not affine", kink(q->p, k).text);
    b->of = grow(b->of, b->n, sizeof *b->of);
    b->of[b->n++] = k;
    q->block_of[k] = number + 1;
  } while (more_words());
}

/* Under moves with tangents d: which option of touched kink k is the largest. */
static int
side_taken(simplices *q, const motion *d, size_t k)
{
  const touch *t = &q->p->touched[k];
  size_t best = 0;
  int sign = interval_sign(tangent_at(d, t->from, t->at[0]), kink(q->p, k).text);
  if (!is_window(t))
    return sign;
  sign = 1;
  for (size_t o = 1; o < t->n; o++) {
    INTERVAL(x);
    interval_add(&x, tangent_at(d, t->from, t->at[o]), &plus_one);
    interval_add(&x, tangent_at(d, t->from, t->at[best]), &minus_one);
    int more = interval_sign(&x, kink(q->p, k).text);
    if (more >= 0) {
      sign = more;
      best = more > 0 ? o : best;
    }
  }
  return sign == 0 ? 0 : (int)best + 1;
}

/* Nothing is decided at the block's touched kink k: its argument does not move, or a window's options move as one. */
static void
stand_still(simplices *q, const motion *d, size_t k)
{
  const touch *t = &q->p->touched[k];
  for (size_t o = is_window(t); o < t->n; o++) {
    INTERVAL(x);
    interval_add(&x, tangent_at(d, t->from, t->at[o]), &plus_one);
    if (is_window(t))
      interval_add(&x, tangent_at(d, t->from, t->at[0]), &minus_one);
    require(interval_zero(&x), "%s moves, as it must not", kink(q->p, k).text);
  }
}

/* One direction a cell. */
static void
read_cells(simplices *q, block *b, size_t number)
{
  for (size_t i = 0; i < b->n_cells; i++) {
    read_direction(q->p->net);
    b->side = grow(b->side, i, sizeof *b->side);
    b->side[i] = allocate(b->n, sizeof **b->side);
    motion d = tangents(q->p, q->ad);
    for (size_t k = 0; k < q->p->n_touched; k++)
      if (q->block_of[k] != 0 && q->block_of[k] != number + 1)
        stand_still(q, &d, k);
    for (size_t j = 0; j < b->n; j++) {
      b->side[i][j] = side_taken(q, &d, b->of[j]);
      require(b->side[i][j] != 0, "this direction does not move %s", kink(q->p, b->of[j]).text);
    }
    tangents_free(&d);
  }
}

/* `directions` that bring the touched kinks outside of all blocks to the sides AD has; those inside do not move. */
static void
check_others(simplices *q, cell *c)
{
  bool *found = allocate(q->p->n_slopes, sizeof *found);
  for (size_t k = 0; k < q->p->n_touched; k++)
    c->side[k] = q->block_of[k] != 0 ? 0 : own_side(q->p, q->ad, k);
  cell_settle(c, q->p, false);
  for (size_t k = 0; k < q->p->n_touched; k++) {
    require(q->block_of[k] != 0 || c->flat[k] || c->side[k] != 0,
            "%s is in no block, and what AD does gives it no side", kink(q->p, k).text);
    c->flat[k] = c->flat[k] || q->block_of[k] != 0;
  }
  next_line("directions");
  for (size_t n = next_number(); n > 0; n--) {
    read_direction(q->p->net);
    motion d = tangents(q->p, c->slope);
    for (size_t k = 0; k < q->p->n_touched; k++)
      if (q->block_of[k] != 0)
        stand_still(q, &d, k);
    note_moves(q->p, c, &d, found);
    tangents_free(&d);
  }
  must_move(q->p, c, found, false);
  free(found);
}

/* ---- The span */

/* Does AD, or a cell, take option o of the block's kink j? (A kink with one slope in all cells and in AD: no.) */
static bool
in_play(simplices *q, const block *b, size_t j, size_t o)
{
  const touch *t = &q->p->touched[b->of[j]];
  bool any = is_window(t) && mpq_sgn(&q->ad[t->slope + o]) != 0;
  for (size_t i = 0; i < b->n_cells && !any; i++)
    any = is_window(t) ? (size_t)b->side[i][j] == o + 1
                       : !mpq_equal(b->side[i][j] < 0 ? &t->left : &t->right, &q->ad[t->slope]);
  return any;
}

/* Hands the rows of the block's kink j to work, row o of each: its argument's gradient, or what each of a window's
 * options in play has over the first that is. */
static void
for_each_row(simplices *q, block *b, size_t j, void (*work)(simplices *q, block *b, size_t j, size_t o))
{
  const touch *t = &q->p->touched[b->of[j]];
  size_t first = 0;
  if (interval_zero(&q->adjoint[b->of[j]]))
    return;
  while (first < t->n && !in_play(q, b, j, first))
    first++;
  for (size_t o = first + is_window(t); o < t->n; o++) {
    if (!in_play(q, b, j, o))
      continue;
    kink_row(q->p, q->ad, NULL, b->of[j], o, first, false);
    work(q, b, j, o);
  }
}

static void
note_columns(simplices *q, block *b, size_t j, size_t o)
{
  (void)j;
  (void)o;
  for (size_t i = 0; i < q->p->net->n_wrt; i++) {
    if (q->in_row[i] || mpq_sgn(&q->p->net->gradient[i]) == 0)
      continue;
    b->column = grow(b->column, b->n_columns, sizeof *b->column);
    b->column[b->n_columns++] = i;
    q->in_row[i] = true;
  }
}

/* Adds the row to the basis unless it is in the span already. */
static void
extend(simplices *q, block *b, size_t j, size_t o)
{
  rational *x = rationals(b->n_columns);
  size_t first = 0;
  RATIONAL(by);
  (void)j;
  (void)o;
  for (size_t i = 0; i < b->n_columns; i++)
    mpq_set(&x[i], &q->p->net->gradient[b->column[i]]);
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
  require(b->rank + 1 < b->n_cells, "a block of %zu cells, for changes of a larger dimension", b->n_cells);
  mpq_inv(&by, &x[first]);
  for (size_t i = 0; i < b->n_columns; i++)
    mpq_mul(&x[i], &x[i], &by);
  b->basis = grow(b->basis, b->rank, sizeof *b->basis);
  b->pivot = grow(b->pivot, b->rank, sizeof *b->pivot);
  b->basis[b->rank] = x;
  b->pivot[b->rank++] = first;
}

static void
add_change(simplices *q, block *b, size_t j, size_t o)
{
  const touch *t = &q->p->touched[b->of[j]];
  RATIONAL(by);
  RATIONAL(x);
  for (size_t i = 0; i < b->n_cells; i++) {
    int side = b->side[i][j];
    if (!is_window(t))
      mpq_sub(&by, side < 0 ? &t->left : &t->right, &q->ad[t->slope]);
    else
      mpq_sub(&by, (size_t)side == o + 1 ? &plus_one : &zero, &q->ad[t->slope + o]);
    for (size_t r = 0; r < b->rank; r++) {
      mpq_mul(&x, &by, &q->p->net->gradient[b->column[b->pivot[r]]]);
      interval_add(&q->change[i * b->rank + r], &q->adjoint[b->of[j]], &x);
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
solve_weights(simplices *q, size_t n)
{
  interval **column = allocate(n + 1, sizeof *column);
  for (size_t i = 0; i <= n; i++)
    column[i] = &q->change[i * n];
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

static void
check_block(simplices *q, block *b)
{
  q->in_row = allocate(q->p->net->n_wrt, sizeof *q->in_row);
  for (size_t j = 0; j < b->n; j++)
    for_each_row(q, b, j, note_columns);
  for (size_t j = 0; j < b->n; j++)
    for_each_row(q, b, j, extend);
  require(b->n_cells == b->rank + 1, "a block of %zu cells, for changes of dimension %zu", b->n_cells, b->rank);
  q->change = intervals(b->n_cells * b->rank);
  for (size_t j = 0; j < b->n; j++)
    for_each_row(q, b, j, add_change);
  for (size_t i = 0; i < b->n_cells * b->rank; i++)
    interval_round(&q->change[i]);
  solve_weights(q, b->rank);
  intervals_free(q->change, b->n_cells * b->rank);
  free(q->in_row);
}

void
check_simplices(claim *of, bool bouligand)
{
  cell *c = &of->c;
  size_t n = next_number();
  simplices all = {.p = of->p, .ad = of->ad, .block_of = allocate(of->p->n_touched, sizeof *all.block_of)}, *q = &all;
  require(n >= 1 && n <= q->p->n_touched, "one block or more is expected, none of them empty");
  block *b = allocate(n, sizeof *b);
  bool *needed = allocate(q->p->net->batch, sizeof *needed);
  cell_settle(c, q->p, false);
  for (size_t i = 0; i < n; i++)
    read_block(q, &b[i], i, c, bouligand);
  for (size_t i = 0; i < n; i++)
    read_cells(q, &b[i], i);
  check_others(q, c);
  for (size_t k = 0; k < q->p->n_touched; k++)
    needed[q->p->touched[k].entry % q->p->net->batch] |= q->block_of[k] != 0;
  q->adjoint = adjoints(q->p, q->ad, needed);
  for (size_t i = 0; i < n; i++)
    check_block(q, &b[i]);
}
