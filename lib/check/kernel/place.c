/* Where an argument lies, by its exact value, or as intervals tell; and so all places of a point. */
#include "check/kernel/place.h"
#include "check/base/allocate.h"
#include "check/kernel/smooth.h"
#include "check/kernel/identity.h"
#include "check/kernel/window.h"

#include <stdlib.h>

/* Pieces j and j + 1 are the same polynomial, whatever `wrt` moves: there is no kink between them. */
static bool
same_pieces(const step *st, const factor *by, size_t j)
{
  const rational *left = st->piece[j], *right = st->piece[j + 1];
  if (j == 0 && by->w != NULL && by->w->wrt)
    return false;
  const rational *slope = j == 0 && by->w != NULL ? &by->w->value[by->at] : &left[1];
  return mpq_equal(&left[0], &right[0]) && mpq_equal(slope, &right[1]) && mpq_equal(&left[2], &right[2]);
}

/* An argument that may be 0, and cancels but for a root, is 0. (What is not exact is a smooth step's, of which there are rules.) */
static void
settle_zero(point *p, const step *st, size_t e)
{
  const source x = read_by(p, st, e);
  size_t at = entry_of(p, x, e);
  if (interval_open(argument(p, st, e)) && p->net->smooth->cancels(p, x.step, at, at))
    p->y[x.step][at] = &exactly_zero;
}

size_t
locate(point *p, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  source x = term_at(p, st, e, 0).x;
  const factor by = term_at(p, st, e, 0).by;
  INTERVAL(left);
  INTERVAL(right);
  for (size_t j = 0; j < st->n_kinks; j++) {
    if (same_pieces(st, &by, j))
      continue;
    settle_zero(p, st, e);
    interval_set(&left, &st->at[j], &st->at[j]);
    interval_set(&right, &argument(p, st, e)->lo, &argument(p, st, e)->hi);
    interval_add(&right, &left, &minus_one);
    bool of_x = interval_open(&right) && mpq_sgn(&st->at[j]) == 0;
    int sign = of_x ? p->net->smooth->sign_by_size(p, x.step, entry_of(p, x, e)) : 0;
    sign = sign != 0 ? sign : interval_sign(&right, "whether an argument is at a kink");
    if (sign < 0)
      return j;
    if (sign > 0)
      continue;
    piece_slope(p, st, e, j, &left);
    piece_slope(p, st, e, j + 1, &right);
    if (mpq_equal(&left.lo, &right.lo)) /* a parabola is on no side affine */
      return mpq_sgn(&st->piece[j][2]) == 0 && mpq_sgn(&st->piece[j + 1][2]) != 0 ? j + 1 : j;
    touch new = {s, e, j, x.step, 1, allocate(1, sizeof(size_t)), NULL, 0, 0, left.lo, right.lo};
    *new.at = entry_of(p, x, e);
    touch_add(p, new);
    left.lo = rational_zero(); /* both have moved */
    right.lo = rational_zero();
    return TOUCHED + j;
  }
  return st->n_kinks;
}

void
note_value(const point *p, source x, size_t e, const integer *c, unsigned long digits)
{
  const interval **y = x.step < PADDING ? &p->y[x.step][entry_of(p, x, e)] : NULL;
  if (y == NULL || *y != NULL)
    return;
  interval *exact = intervals(1);
  unfixed(&exact->lo, c, digits);
  mpq_set(&exact->hi, &exact->lo);
  *y = exact;
}

void
expect_domain(const point *p, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  expect(p->net->smooth->inside(st->of, argument(p, st, e), st->still), "node %zu '%s' (%s): %s", st->place, st->name,
         st->op,
         function_jumps(st->of) ? "an argument that parameters move is where the function jumps, or it is too large"
                                : "an argument is 0, or below, where it is not smooth");
}

/* ---- All places */

/* Fills reads. */
static void
reads_prepare(step *st)
{
  st->n_reads = 0;
  st->reads = NULL;
  for (size_t i = 0, last = PADDING; i < st->n_sources; i++) {
    size_t from = st->sources[i].step, k = 0;
    if (from == last || from == PADDING)
      continue;
    while (k < st->n_reads && st->reads[k] != from)
      k++;
    if (k == st->n_reads) {
      st->reads = grow(st->reads, st->n_reads, sizeof *st->reads);
      st->reads[st->n_reads++] = from;
    }
    last = from;
  }
}

/* No operator makes a window of padding alone, or a product of anything but entries. */
static void
expect_entries(const step *st)
{
  for (size_t row = 0; row < st->n_sources && (st->kind == WINDOW || st->kind == PRODUCT); row += st->width) {
    size_t n = 0;
    for (size_t i = row; i < row + st->width; i++)
      n += st->sources[i].step < PADDING;
    expect(st->kind == WINDOW ? n > 0 : n == st->width && n % 2 == 0, "node %zu: a window or a product without entries",
           st->place);
  }
}

static void
point_begin(point *p)
{
  network *net = p->net;
  p->y = allocate(net->n_steps, sizeof *p->y);
  p->place = allocate(net->n_steps, sizeof *p->place);
  window_begin(p);
  for (size_t s = 0; s < net->n_steps; s++) {
    step *st = &net->steps[s];
    p->y[s] = allocate(entries(p, s), sizeof *p->y[s]);
    if (st->kind == PIECEWISE || st->kind == WINDOW)
      p->place[s] = allocate(entries(p, s), sizeof **p->place);
    for (size_t e = 0; p->place[s] != NULL && e < entries(p, s); e++)
      p->place[s][e] = NONE;
    expect(net->smooth != NULL || !(st->length > 0 || st->kind == OVER_ROOT || st->kind == FUNCTION),
           "node %zu: a smooth step, and no rules for it", st->place);
    if (st->kind == OVER_ROOT)
      net->smooth->root_prepare(st);
    expect_entries(st);
    rows_prepare(st);
    reads_prepare(st);
    for (size_t i = 0; i < st->n_factors; i++)
      st->varies = st->varies || (st->factors[i].w != NULL && st->factors[i].w->wrt);
    for (size_t i = 0; i < st->n_sources; i++)
      st->varies = st->varies || (st->sources[i].step < PADDING && net->steps[st->sources[i].step].varies);
    st->still = !st->varies;
    if (st->kind == FUNCTION && function_jumps(st->of)) /* inside its domain it is constant */
      st->varies = false;
  }
}

/* Marks what a kink, a window or a domain depends on. */
static void
mark_asked(const point *p)
{
  for (size_t s = p->net->n_steps; s-- > 0;) {
    step *st = &p->net->steps[s];
    st->asked = st->asked || p->place[s] != NULL || (st->kind == FUNCTION && function_has_domain(st->of));
    for (size_t i = 0; i < st->n_reads && st->asked; i++)
      if (st->reads[i] != NONE)
        p->net->steps[st->reads[i]].asked = true;
  }
}

/* The place of an entry of a WINDOW step, by the exact values of all that it reads. */
static size_t
exact_window(point *p, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  bool *among = allocate(st->width, sizeof *among);
  for (size_t i = 0; i < st->width; i++)
    among[i] = term_at(p, st, e, i).x.step != PADDING;
  size_t place = window_place(p, s, e, among);
  free(among);
  return place;
}

/* All places by exact values, and whether functions are in their domains. */
static void
exact_places(point *p)
{
  for (size_t s = 0; s < p->net->n_steps; s++) {
    const step *st = &p->net->steps[s];
    bool domain = st->kind == FUNCTION && function_has_domain(st->of);
    for (size_t e = 0; (domain || p->place[s] != NULL) && e < entries(p, s); e++)
      if (domain)
        expect_domain(p, s, e);
      else
        p->place[s][e] = st->kind == WINDOW ? exact_window(p, s, e) : locate(p, s, e);
  }
}

void
point_evaluate(point *p)
{
  point_begin(p);
  mark_asked(p);
  (p->net->near != NULL ? p->net->near : exact_places)(p);
  touches_number(p);
}
