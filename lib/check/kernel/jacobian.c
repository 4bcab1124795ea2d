/* Derivatives of one entry, step by step. */
#include "check/kernel/jacobian.h"
#include "check/base/elementary.h"
#include "check/kernel/line.h"

/* The derivative of entry e by what entry `reader` has from x. */
static void
hand_on(const jacobian *j, size_t s, size_t e, size_t reader, source x, const interval *by)
{
  if (x.step < PADDING && j->p->net->steps[x.step].varies && !interval_zero(by))
    j->take(j->pass, s, e, reader, x, by);
}

/* The derivatives r (m [i = e] - 1 - y[i] y[e]) by the entries i of e's line. With c = m (x - mean) the product y[i] y[e] is
 * c[i] c[e] r^2, which is rational where c is. */
static void
normalize_row(const jacobian *j, size_t s, size_t e, bool rootless)
{
  const point *p = j->p;
  const step *st = &p->net->steps[s];
  size_t m = line_length(p, st), own = 0;
  interval *c = centred(p, st, e);
  INTERVAL(r);
  INTERVAL(square);
  RATIONAL(all);
  while (line_entry(p, st, e, own) != e)
    own++;
  inverse_square(&square, c, m, &st->at[0]);
  if (rootless)
    interval_set(&r, &plus_one, &plus_one);
  else
    inverse_root(&r, c, m, &st->at[0]);
  mpq_set_ui(&all, m, 1);
  for (size_t i = 0; i < m; i++) {
    size_t at = line_entry(p, st, e, i);
    INTERVAL(by);
    INTERVAL(t);
    if (i == own)
      interval_add(&by, &exactly_one, &all);
    interval_add(&by, &exactly_one, &minus_one);
    interval_mul(&t, &c[i], &c[own]);
    interval_mul(&t, &t, &square);
    interval_add(&by, &t, &minus_one);
    interval_mul(&by, &by, &r);
    hand_on(j, s, e, at, read_by(p, st, at), &by);
  }
  intervals_free(c, m);
}

/* y_e ([e = i] - y_i), the derivative of entry e by what entry i reads, which is rational where the line's entries are: where
 * all are equal. Nothing comes from an entry that is alone in its line: it is always 1. That of the logarithm is never rational,
 * and not known otherwise. */
static void
softmax_row(const jacobian *j, size_t s, size_t e)
{
  const step *st = &j->p->net->steps[s];
  expect(!st->log || j->exact, "adjoints behind a LogSoftmax");
  for (size_t i = 0; st->length > 1 && i < st->length; i++) {
    size_t at = line_entry(j->p, st, e, i);
    INTERVAL(by);
    if (at == e || st->log)
      mpq_set(&by.hi, &plus_one);
    if (at == e && !st->log)
      mpq_set(&by.lo, &plus_one);
    if (!st->log) {
      interval_add(&by, value_at(j->p, s, at), &minus_one);
      interval_mul(&by, &by, value_at(j->p, s, e));
    }
    hand_on(j, s, e, at, read_by(j->p, st, at), &by);
  }
}

/* The slope of a quotient, a root or a logarithm may be rational, and that of ELU from 0 on is 1; that of no other function counts as
 * rational. */
static bool
slope_may_be_rational(function f, const interval *x)
{
  return function_has_domain(f) || (f == F_ELU && mpq_sgn(&x->lo) >= 0);
}

static void
function_row(const jacobian *j, size_t s, size_t e)
{
  const step *st = &j->p->net->steps[s];
  const interval *x = argument(j->p, st, e);
  INTERVAL(by);
  if (j->exact && !slope_may_be_rational(st->of, x))
    interval_set(&by, &zero, &plus_one);
  else
    function_slope(&by, st->of, x);
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
  case NORMALIZE: normalize_row(j, s, e, rootless); break;
  case SOFTMAX: softmax_row(j, s, e); break;
  case FUNCTION: function_row(j, s, e); break;
  case WINDOW: window_row(j, s, e); break;
  default: terms_row(j, s, e);
  }
}
