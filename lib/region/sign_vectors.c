/* The tree of sign vectors (sign_vectors.h). */
#include "region/sign_vectors.h"
#include "base/stop.h"
#include "base/verify.h"
#include "region/cross.h"

#include <flint/fmpz.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What stands at a depth of the tree. */
typedef struct {
  clarke_witness here, other; /* other: for the branch that `here` is not in */
  double *product;            /* by row: <unit, here> / |here| */
} frame;

typedef struct {
  const clarke_rows *rows;
  size_t fixed;
  const clarke_sign_visitor *visitor;
  clarke_sign_tree *result;
  clarke_circuits circuits;
  clarke_crossing crossing;
  clarke_trail trail;
  frame *frame; /* rows->n + 1, made when they are reached */
  size_t n_frames;
  bool ended;
} tree;

/* --- telling --------------------------------------------------------------------------------- */

static clarke_status
tell_forced(tree *t, size_t from, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t k = from; k < t->trail.n && t->visitor->forced != NULL && status == CLARKE_OK; k++)
    if (t->trail.circuit[k] != CLARKE_CHOSEN)
      status = t->visitor->forced(t->visitor->context, t->trail.row[k], t->trail.sign[t->trail.row[k]], t->trail.circuit[k], err);
  return status;
}

static clarke_status
tell_leaf(tree *t, const clarke_witness *here, clarke_error *err)
{
  bool go_on = true;
  clarke_status status = CLARKE_OK;

  t->result->leaves++;
  if (t->visitor->leaf != NULL)
    status = t->visitor->leaf(t->visitor->context, &go_on, t->trail.sign, here, err);
  t->ended = t->ended || !go_on;
  return status;
}

/* --- signs ----------------------------------------------------------------------------------- */

/* All that the clauses force by the signs from place `from` of the trail on. */
static clarke_status
propagate(tree *t, size_t from, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t k = from; k < t->trail.n && status == CLARKE_OK; k++)
    status = clarke_circuits_visit(&t->circuits, &t->trail, t->trail.row[k], err);
  return status;
}

/* Gives a sign, and all that follows from it. New clauses, which came since the first `known`, are looked at as a whole. */
static clarke_status
give_sign(tree *t, size_t row, int sign, size_t circuit, size_t known, clarke_error *err)
{
  const size_t from = t->trail.n;
  clarke_status status = CLARKE_OK;

  clarke_trail_push(&t->trail, row, sign, circuit);
  for (size_t i = known; i < t->circuits.n_clauses && status == CLARKE_OK; i++)
    status = clarke_circuits_review(&t->circuits, &t->trail, i, err);
  if (status == CLARKE_OK)
    status = propagate(t, from, err);
  return status == CLARKE_OK ? tell_forced(t, from, err) : status;
}

static clarke_status
learn(tree *t, size_t n, clarke_error *err)
{
  const clarke_crossing *c = &t->crossing;
  clarke_status status = clarke_circuits_add(&t->circuits, c->member, c->value, n, &t->trail, err);

  if (status == CLARKE_OK && t->visitor->circuit != NULL)
    status = t->visitor->circuit(t->visitor->context, &t->circuits.circuit[t->circuits.n - 1], err);
  return status;
}

/* --- nodes ----------------------------------------------------------------------------------- */

static clarke_status
reach_frame(tree *t, size_t depth, clarke_error *err)
{
  frame *f = &t->frame[depth];
  clarke_status status;

  if (depth < t->n_frames)
    return CLARKE_OK;
  t->n_frames = depth + 1;
  status = clarke_witness_init(&f->here, t->rows->dim, err);
  if (status == CLARKE_OK)
    status = clarke_witness_init(&f->other, t->rows->dim, err);
  f->product = malloc((t->rows->n + 1) * sizeof *f->product);
  return status == CLARKE_OK && f->product == NULL ? clarke_no_memory(err) : status;
}

static void
set_products(const tree *t, frame *f)
{
  const size_t dim = t->rows->dim;
  double size = 0;

  clarke_work_spend(t->rows->n * (dim + 2) / 16 + dim);
  for (size_t j = 0; j < dim; j++)
    size += f->here.x[j] * f->here.x[j];
  size = sqrt(size);
  for (size_t i = 0; i < t->rows->n; i++) {
    const double *unit = clarke_rows_unit(t->rows, i);
    double sum = 0;

    for (size_t j = 0; j < dim; j++)
      sum += unit[j] * f->here.x[j];
    f->product[i] = sum / size;
  }
}

/* The row without a sign whose hyperplane is nearest to the witness; rows->n when all have signs. */
static size_t
nearest(const tree *t, const frame *f)
{
  size_t best = t->rows->n;

  for (size_t i = t->fixed; i < t->rows->n; i++)
    if (t->trail.sign[i] == 0 && (best == t->rows->n || fabs(f->product[i]) < fabs(f->product[best])))
      best = i;
  return best;
}

/* A point of the node with that sign in the row; or a circuit, or neither. */
static clarke_status
cross(tree *t, clarke_cross_kind *kind, size_t *n, clarke_witness *to, const frame *f, size_t row, int sign, clarke_error *err)
{
  *kind = CLARKE_CROSS_POINT;
  if (clarke_cross_step(&t->crossing, to, &t->trail, f->product, &f->here, row, sign))
    return CLARKE_OK;
  return clarke_cross_program(kind, to, n, &t->crossing, &t->trail, row, sign, err);
}

static clarke_status explore(tree *t, size_t depth, clarke_error *err);

/* Both branches of a row. The witness lies in the one for `sign`, `other` in the other one. */
static clarke_status
branch(tree *t, size_t depth, size_t row, int sign, clarke_error *err)
{
  frame *f = &t->frame[depth];
  const size_t from = t->trail.n, known = t->circuits.n_clauses;
  clarke_status status = reach_frame(t, depth + 1, err);

  if (status == CLARKE_OK && t->visitor->split != NULL)
    status = t->visitor->split(t->visitor->context, row, err);
  for (int side = -1; side <= 1 && status == CLARKE_OK && !t->ended; side += 2) {
    clarke_witness_set(&t->frame[depth + 1].here, side == sign ? &f->here : &f->other, t->rows->dim);
    status = give_sign(t, row, side, CLARKE_CHOSEN, side < 0 ? t->circuits.n_clauses : known, err);
    if (status == CLARKE_OK)
      status = explore(t, depth + 1, err);
    clarke_trail_cut(&t->trail, from);
  }
  return status;
}

/* One row of a node: its sign is forced, and *forced says so; or both branches are explored. */
static clarke_status
take(tree *t, bool *forced, size_t depth, size_t row, clarke_error *err)
{
  frame *f = &t->frame[depth];
  int sign = clarke_rows_sign(t->rows, row, &f->here);
  clarke_cross_kind kind = CLARKE_CROSS_POINT;
  size_t n = 0;
  clarke_status status = CLARKE_OK;

  *forced = false;
  clarke_work_spend(t->rows->n / 8 + 16);
  if (sign == 0) { /* the point lies on the hyperplane: it is moved off */
    status = cross(t, &kind, &n, &f->other, f, row, 1, err);
    sign = 1;
    if (status == CLARKE_OK && kind == CLARKE_CROSS_POINT)
      clarke_witness_set(&f->here, &f->other, t->rows->dim);
    CLARKE_ASSERT(status != CLARKE_OK || kind != CLARKE_CROSS_CIRCUIT);
    set_products(t, f);
  }
  if (status == CLARKE_OK && kind == CLARKE_CROSS_POINT)
    status = cross(t, &kind, &n, &f->other, f, row, -sign, err);
  if (status != CLARKE_OK)
    return status;
  if (kind == CLARKE_CROSS_POINT)
    return branch(t, depth, row, sign, err);
  if (kind == CLARKE_CROSS_UNKNOWN) {
    t->ended = t->result->undecided = true;
    return CLARKE_OK;
  }
  *forced = true;
  status = learn(t, n, err);
  return status == CLARKE_OK ? give_sign(t, row, sign, t->circuits.n - 1, t->circuits.n_clauses, err) : status;
}

static clarke_status
explore(tree *t, size_t depth, clarke_error *err)
{
  frame *f = &t->frame[depth];
  clarke_status status = clarke_work_check(err);
  bool forced = true;

  set_products(t, f);
  while (forced && !t->ended && status == CLARKE_OK) {
    const size_t row = nearest(t, f);

    if (row == t->rows->n)
      return tell_leaf(t, &f->here, err);
    status = take(t, &forced, depth, row, err);
  }
  return status;
}

/* --- the whole ------------------------------------------------------------------------------- */

/* A point where the fixed rows are positive. */
static clarke_status
start(tree *t, bool *possible, const clarke_witness *given, clarke_error *err)
{
  clarke_cross_kind kind = CLARKE_CROSS_POINT;
  size_t n;
  clarke_status status = reach_frame(t, 0, err);

  for (size_t i = 0; i < t->fixed; i++)
    clarke_trail_push(&t->trail, i, 1, CLARKE_CHOSEN);
  if (status == CLARKE_OK && given != NULL)
    clarke_witness_set(&t->frame[0].here, given, t->rows->dim);
  else if (status == CLARKE_OK && t->fixed > 0)
    status = clarke_cross_program(&kind, &t->frame[0].here, &n, &t->crossing, &t->trail, SIZE_MAX, 0, err);
  else if (status == CLARKE_OK && t->rows->dim > 0)
    t->frame[0].here.x[0] = 1;
  t->result->undecided = kind == CLARKE_CROSS_UNKNOWN;
  t->ended = t->result->undecided;
  *possible = kind == CLARKE_CROSS_POINT;
  if (status == CLARKE_OK && kind == CLARKE_CROSS_CIRCUIT && t->visitor->circuit != NULL)
    status = learn(t, n, err);
  return status;
}

static void
clear(tree *t)
{
  for (size_t i = 0; i < t->n_frames; i++) {
    clarke_witness_clear(&t->frame[i].here);
    clarke_witness_clear(&t->frame[i].other);
    free(t->frame[i].product);
  }
  free(t->frame);
  clarke_trail_clear(&t->trail);
  clarke_crossing_clear(&t->crossing);
  clarke_circuits_clear(&t->circuits);
}

clarke_status
clarke_sign_vectors(clarke_sign_tree *r, const clarke_rows *rows, size_t fixed, const clarke_witness *given,
                    const clarke_sign_visitor *visitor, clarke_error *err)
{
  tree t = {.rows = rows, .fixed = fixed, .visitor = visitor, .result = r};
  bool possible = false;
  clarke_status status;

  memset(r, 0, sizeof *r);
  t.frame = calloc(rows->n + 2, sizeof *t.frame);
  status = t.frame != NULL ? clarke_circuits_init(&t.circuits, rows, fixed, err) : clarke_no_memory(err);
  if (status == CLARKE_OK)
    status = clarke_crossing_init(&t.crossing, rows, err);
  if (status == CLARKE_OK)
    status = clarke_trail_init(&t.trail, rows->n, err);
  if (status == CLARKE_OK)
    status = start(&t, &possible, given, err);
  if (status == CLARKE_OK && possible)
    status = explore(&t, 0, err);
  if (status == CLARKE_ESTOPPED) {
    r->stopped = t.ended = true;
    status = CLARKE_OK;
  }
  r->programs = t.crossing.programs;
  r->exact = t.crossing.exact;
  r->circuits = t.circuits.n;
  r->complete = status == CLARKE_OK && !t.ended;
  clear(&t);
  return status;
}
