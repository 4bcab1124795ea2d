/* A number other than 0 as its sign, a power of two that it is not below, and one that it is not above. */
#include "check/smooth/size.h"
#include "check/kernel/evaluate.h"
#include "check/smooth/line.h"

#define MOST_LOOKED_AT 256 /* entries, for one */
#define NOWHERE (1L << 50) /* an exponent of so much, or minus that, says nothing */

/* sign -1 or 1: 2^low <= |x| <= 2^high. sign 0: nothing is known. */
typedef struct {
  int sign;
  long low, high;
} size;

static const size unknown = {0, -NOWHERE, NOWHERE};

static long
within_reach(long exponent)
{
  return exponent < -NOWHERE ? -NOWHERE : exponent > NOWHERE ? NOWHERE : exponent;
}

static size
of_both(size a, size b)
{
  bool low = a.low == -NOWHERE || b.low == -NOWHERE, high = a.high == NOWHERE || b.high == NOWHERE;
  return a.sign == 0 || b.sign == 0 ? unknown
                                    : (size){a.sign * b.sign, low ? -NOWHERE : within_reach(a.low + b.low),
                                             high ? NOWHERE : within_reach(a.high + b.high)};
}

/* The number is above 2^(this - 1), and below 2^(this + 1). */
static long
exponent_of(const rational *q)
{
  return (long)mpz_sizeinbase(mpq_numref(q), 2) - (long)mpz_sizeinbase(mpq_denref(q), 2);
}

static size
of_interval(const interval *x)
{
  if (mpq_sgn(&x->lo) > 0)
    return (size){1, exponent_of(&x->lo) - 1, exponent_of(&x->hi) + 1};
  if (mpq_sgn(&x->hi) < 0)
    return (size){-1, exponent_of(&x->hi) - 1, exponent_of(&x->lo) + 1};
  return unknown;
}

#define FAR (1L << 49) /* t log2(e) is not followed beyond this */

/* The whole number next to t log2(e), below it or above: 1.4426 < log2(e) < 1.4427. Of one that is FAR or more in size FAR is, if anything,
 * what it is not below, and -FAR what it is not above. */
static long
binary(const rational *t, bool up)
{
  RATIONAL(q);
  INTEGER(z);
  mpq_set_ui(&q, (mpq_sgn(t) < 0) == up ? 14426 : 14427, 10000);
  mpq_canonicalize(&q);
  mpq_mul(&q, &q, t);
  (up ? mpz_cdiv_q : mpz_fdiv_q)(&z, mpq_numref(&q), mpq_denref(&q));
  if (mpz_cmpabs_ui(&z, FAR) < 0)
    return mpz_get_si(&z);
  return up ? (mpz_sgn(&z) < 0 ? -FAR : NOWHERE) : (mpz_sgn(&z) > 0 ? FAR : -NOWHERE);
}

static size
of_exponential(const interval *x)
{
  return (size){1, binary(&x->lo, false), binary(&x->hi, true)};
}

static size size_of(const point *p, size_t s, size_t e, size_t *left);

static size
of_source(const point *p, source x, size_t e, size_t *left)
{
  return size_of(p, x.step, entry_of(p, x, e), left);
}

/* Entry e of a line of two, whose other argument is 0: sigmoid, which below 0 is half of exp at least. Of any other line, at most 1. */
static size
of_share(const point *p, const step *st, size_t e)
{
  size_t other = line_entry(p, st, e, line_entry(p, st, e, 0) == e ? 1 : 0);
  if (st->length != 2 || !interval_zero(argument(p, st, other)))
    return (size){1, -NOWHERE, 0};
  size y = of_exponential(argument(p, st, e));
  if (y.low > 0)
    y.low = 0;
  if (y.high > 0)
    y.high = 0;
  y.low = y.low == -NOWHERE ? y.low : y.low - 1;
  return y;
}

/* What a sum's entry is 2 tanh(x), c (2 s - 1), of: the entry of the share s; false: it is no such sum. */
static bool
is_hyperbolic(const point *p, const step *st, size_t e, size_t *share, rational *c)
{
  RATIONAL(one);
  const term t = term_at(p, st, e, 0), u = term_at(p, st, e, st->width - 1);
  if (st->width != 2 || st->divide || t.x.step >= PADDING || u.x.step != NONE)
    return false;
  const step *shares = &p->net->steps[t.x.step];
  if (shares->kind != SOFTMAX || shares->log || shares->length != 2)
    return false;
  *share = entry_of(p, t.x, e);
  weigh(st, &t.by, false, c);
  weigh(st, &u.by, false, &one);
  mpq_div_2exp(c, c, 1);
  mpq_add(&one, &one, c);
  return mpq_sgn(&one) == 0 && mpq_sgn(c) != 0;
}

/* tanh(y / 2), where the share is that of y beside 0: for x = y / 2 it is x / 2 at least, and x at most, up to 1; and beyond 1/2 at least. */
static size
of_tanh(const point *p, size_t shares, size_t e, size_t *left)
{
  const step *st = &p->net->steps[shares];
  size_t other = line_entry(p, st, e, line_entry(p, st, e, 0) == e ? 1 : 0);
  if (!interval_zero(argument(p, st, other)))
    return unknown;
  size x = of_source(p, term_at(p, st, e, 0).x, e, left);
  if (x.sign == 0)
    return x;
  x.low = x.low == -NOWHERE ? x.low : (x.low - 1 < 0 ? x.low - 1 : 0) - 1;
  x.high = x.high - 1 < 0 ? x.high - 1 : 0;
  return x;
}

static size
of_number(const rational *q)
{
  INTERVAL(x);
  mpq_set(&x.lo, q);
  mpq_set(&x.hi, q);
  return of_interval(&x);
}

/* The largest term of each sign: those of one sign are left where one of them is twice as large as all of the other. */
static size
of_sum(const point *p, const step *st, size_t e, size_t *left)
{
  long low[2] = {-NOWHERE, -NOWHERE}, high[2] = {-NOWHERE, -NOWHERE}, spread = 1;
  bool some[2] = {false, false};
  RATIONAL(q);
  for (; st->width >> spread != 0; spread++)
    continue;
  for (size_t i = 0; i < st->width; i++) {
    const term t = term_at(p, st, e, i);
    if (t.x.step == PADDING)
      continue;
    weigh(st, &t.by, false, &q);
    if (mpq_sgn(&q) == 0 || (t.x.step != NONE && zero_at(p, t.x.step, entry_of(p, t.x, e))))
      continue;
    size one = of_number(&q);
    if (t.x.step != NONE)
      one = of_both(one, of_source(p, t.x, e, left));
    if (one.sign == 0)
      return unknown;
    bool k = one.sign > 0;
    low[k] = !some[k] || one.low > low[k] ? one.low : low[k];
    high[k] = !some[k] || one.high > high[k] ? one.high : high[k];
    some[k] = true;
  }
  for (int k = 0; k < 2; k++)
    if (some[k] && (!some[!k] || (high[!k] < NOWHERE && low[k] > high[!k] + spread)))
      return (size){k == 0 ? -1 : 1, low[k] == -NOWHERE ? low[k] : low[k] - some[!k],
                    high[k] == NOWHERE ? NOWHERE : high[k] + spread};
  return unknown;
}

static size
of_linear(const point *p, const step *st, size_t e, size_t *left)
{
  size_t share;
  RATIONAL(c);
  return is_hyperbolic(p, st, e, &share, &c)
             ? of_both(of_number(&c), of_tanh(p, term_at(p, st, e, 0).x.step, share, left))
             : of_sum(p, st, e, left);
}

static size
of_function(const point *p, const step *st, size_t e, size_t *left)
{
  if (st->of == F_EXP)
    return of_exponential(argument(p, st, e));
  if (st->of == F_SOFTPLUS || st->of == F_NORMAL || st->of == F_NORMAL_TANH)
    return (size){1, -NOWHERE, NOWHERE};
  if (st->of != F_ERF && st->of != F_ATAN)
    return unknown;
  return (size){of_source(p, term_at(p, st, e, 0).x, e, left).sign, -NOWHERE, 1};
}

static size
size_of(const point *p, size_t s, size_t e, size_t *left)
{
  const step *st = &p->net->steps[s];
  const interval *y = value_at(p, s, e);
  size found = of_interval(y);
  if (found.sign != 0 || interval_exact(y) || *left == 0)
    return found;
  --*left;
  if (st->kind == LINEAR)
    return of_linear(p, st, e, left);
  if (st->kind == SOFTMAX && !st->log)
    return of_share(p, st, e);
  if (st->kind == FUNCTION)
    return of_function(p, st, e, left);
  if (st->kind != PRODUCT || st->width != 2)
    return found;
  found = of_source(p, term_at(p, st, e, 0).x, e, left);
  return found.sign == 0 ? found : of_both(found, of_source(p, term_at(p, st, e, 1).x, e, left));
}

int
sign_by_size(const point *p, size_t s, size_t e)
{
  size_t left = MOST_LOOKED_AT;
  return size_of(p, s, e, &left).sign;
}
