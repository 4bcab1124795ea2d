/* Derivatives of one entry, step by step. */
#include "check/kernel/jacobian.h"
#include "check/kernel/smooth.h"

void
hand_on(const jacobian *j, size_t s, size_t e, size_t reader, source x, const interval *by)
{
  if (x.step < PADDING && j->p->net->steps[x.step].varies && !interval_zero(by))
    j->take(j->pass, s, e, reader, x, by);
}

static void
function_row(const jacobian *j, size_t s, size_t e)
{
  const step *st = &j->p->net->steps[s];
  const interval *x = argument(j->p, st, e);
  INTERVAL(by);
  if (j->exact && !j->p->net->smooth->rational_slope(st->of, x))
    interval_set(&by, &zero, &plus_one);
  else
    j->p->net->smooth->slope(&by, st->of, x);
  hand_on(j, s, e, e, read_by(j->p, st, e), &by);
}

/* To the largest; of a tied window to its options, each with any share when there are no slopes. */
static void
window_row(const jacobian *j, size_t s, size_t e)
{
  size_t from = read_step(&j->p->net->steps[s]), alone;
  const size_t *at;
  const rational *by;
  for (size_t n = options(j->p, s, e, j->slope, &at, &by, &alone), o = 0; o < n; o++) {
    INTERVAL(share);
    interval_set(&share, by != NULL ? &by[o] : &zero, by != NULL ? &by[o] : &plus_one);
    hand_on(j, s, e, e, (source){from, at[o] / j->p->net->batch}, &share);
  }
}

#define FEW 8

/* The number that multiplies what term i of a LINEAR entry reads; of few terms that of all which read the same, as of x - x, and false for the
 * later ones: an adjoint that is not known cancels as well. */
static bool
linear_weight(const point *p, const step *st, size_t e, size_t i, const term *t, rational *by)
{
  RATIONAL(q);
  weigh(st, &t->by, false, by);
  for (size_t k = 0; st->width <= FEW && k < st->width; k++) {
    const term other = term_at(p, st, e, k);
    if (k == i || other.x.step != t->x.step || entry_of(p, other.x, e) != entry_of(p, t->x, e))
      continue;
    if (k < i)
      return false;
    weigh(st, &other.by, false, &q);
    mpq_add(by, by, &q);
  }
  return true;
}

/* Each term's, with what multiplies it: of a product the other factor. */
static void
terms_row(const jacobian *j, size_t s, size_t e)
{
  const point *p = j->p;
  const step *st = &p->net->steps[s];
  INTERVAL(by);
  for (size_t i = 0; i < st->width; i++) {
    const term t = term_at(p, st, e, i);
    if (t.x.step >= PADDING || !p->net->steps[t.x.step].varies)
      continue;
    if (st->kind == PRODUCT) {
      source other = term_at(p, st, e, i ^ 1).x;
      hand_on(j, s, e, e, t.x, value_at(p, other.step, entry_of(p, other, e)));
      continue;
    }
    if (st->kind == PIECEWISE)
      slope_at(p, s, e, j->slope, &by);
    else if (linear_weight(p, st, e, i, &t, &by.lo))
      mpq_set(&by.hi, &by.lo);
    else
      continue;
    hand_on(j, s, e, e, t.x, &by);
  }
}

void
jacobian_row(const jacobian *j, size_t s, size_t e, bool rootless)
{
  const step *st = &j->p->net->steps[s];
  switch (st->kind) {
  case OVER_ROOT: {
    const term t = term_at(j->p, st, e, 0);
    hand_on(j, s, e, e, t.x, rootless ? &exactly_one : &st->root[t.by.at]);
    break;
  }
  case NORMALIZE:
  case SOFTMAX: j->p->net->smooth->line_row(j, s, e, rootless); break;
  case FUNCTION: function_row(j, s, e); break;
  case WINDOW: window_row(j, s, e); break;
  default: terms_row(j, s, e);
  }
}
