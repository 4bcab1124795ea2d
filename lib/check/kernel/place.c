/* Where an argument lies, by its exact value, or as intervals tell. */
#include "check/kernel/place.h"
#include "check/base/allocate.h"
#include "check/kernel/factor.h"
#include "check/kernel/smooth.h"
#include "check/kernel/window.h"

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

/* An argument that may be at a kink at 0, and cancels but for a root, is 0. */
static void
settle_zero(point *p, const step *st, size_t e, size_t kink)
{
  const source x = term_at(p, st, e, 0).x;
  const interval *value = argument(p, st, e);
  size_t at = entry_of(p, x, e);
  if (mpq_sgn(&st->at[kink]) == 0 && !interval_exact(value) && mpq_sgn(&value->lo) <= 0 && mpq_sgn(&value->hi) >= 0
      && cancels(p, x.step, at, at))
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
    settle_zero(p, st, e, j);
    interval_set(&left, &st->at[j], &st->at[j]);
    interval_set(&right, &argument(p, st, e)->lo, &argument(p, st, e)->hi);
    interval_add(&right, &left, &minus_one);
    bool open = !interval_exact(&right) && mpq_sgn(&right.lo) <= 0 && mpq_sgn(&right.hi) >= 0;
    int sign = open && mpq_sgn(&st->at[j]) == 0 ? p->net->smooth->sign_by_size(p, x.step, entry_of(p, x, e)) : 0;
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
