/* Derivatives of one entry, step by step. */
#include "check/kernel/jacobian.h"
#include "check/kernel/smooth.h"

void
hand_on(const jacobian *j, size_t s, size_t e, size_t reader, source x, const interval *by)
{
  if (x.step < PADDING && j->p->net->steps[x.step].varies && !interval_zero(by))
    j->take(j->pass, s, e, reader, x, by);
}

/* The slope of a quotient, a root or a logarithm may be rational; that of no other function counts as such. */
static void
function_row(const jacobian *j, size_t s, size_t e)
{
  const step *st = &j->p->net->steps[s];
  INTERVAL(by);
  if (j->exact && !function_has_domain(st->of))
    interval_set(&by, &zero, &plus_one);
  else
    j->p->net->smooth->slope(&by, st->of, argument(j->p, st, e));
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
    else {
      weigh(st, &t.by, false, &by.lo);
      mpq_set(&by.hi, &by.lo);
    }
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
