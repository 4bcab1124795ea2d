/* Simplices: the touched kinks of a block have arguments that are affine whatever sides are chosen, so none of them lies
 * behind another, and a direction moves each of them alike under all slopes. What a cell of a block changes in AD's gradient adds up
 * with what those of others do. So AD's output is a mean where each block's changes balance (changes.h). */
#include "check/kernel/simplex.h"
#include "check/kernel/adjoint.h"
#include "check/base/allocate.h"
#include "check/kernel/cell.h"
#include "check/kernel/changes.h"
#include "check/base/lines.h"
#include "check/kernel/names.h"
#include "check/kernel/window.h"

#include <stdlib.h>

typedef struct {
  size_t n_cells, n, *of; /* of: its touched kinks */
  int **side;             /* by cell, then kink */
} block;

typedef struct {
  const point *p;
  const rational *ad;
  size_t *block_of; /* of each touched kink: 1 + its block's number; 0: it is in none */
  interval *adjoint;
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

/* Those of touched kink k on that side. */
static void
set_slopes(const point *p, rational *slope, size_t k, int side)
{
  const touch *t = &p->touched[k];
  for (size_t o = 0; o < t->n; o++)
    if (is_window(t))
      mpq_set(&slope[t->slope + o], (size_t)side == o + 1 ? &plus_one : &zero);
    else
      mpq_set(&slope[t->slope], side < 0 ? &t->left : &t->right);
}

/* The cells' slopes, of the block's kinks alone: no others are asked for. */
static void
check_block(const simplices *q, const block *b)
{
  rational **slope = allocate(b->n_cells, sizeof *slope);
  interval **adjoint = allocate(b->n_cells, sizeof *adjoint);
  for (size_t i = 0; i < b->n_cells; i++) {
    slope[i] = rationals(q->p->n_slopes);
    adjoint[i] = q->adjoint;
    for (size_t j = 0; j < b->n; j++)
      set_slopes(q->p, slope[i], b->of[j], b->side[i][j]);
  }
  require_balance(&(changes){q->p, q->ad, NULL, b->n, b->n_cells, b->of, slope, adjoint});
  for (size_t i = 0; i < b->n_cells; i++)
    rationals_free(slope[i], q->p->n_slopes);
  free(slope);
  free(adjoint);
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
  q->adjoint = adjoints(q->p, q->ad, needed, NULL);
  for (size_t i = 0; i < n; i++)
    check_block(q, &b[i]);
}
