/* Functions of intervals of doubles (record_span.h). */
#include "check/base/span.h"

#include <float.h>
#include <stdlib.h>

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || __FINITE_MATH_ONLY__
#error "intervals of doubles need each operation as it is written, and numbers that are none"
#endif
_Static_assert(FLT_EVAL_METHOD == 0 && DBL_MANT_DIG == 53, "doubles are computed as such");

/* ---- Rationals */

#define LARGEST 100 /* those that doubles take lie between 2^-LARGEST and 2^LARGEST, about */

double
number_in_double(const rational *q)
{
  long size = (long)mpz_sizeinbase(mpq_numref(q), 2) - (long)mpz_sizeinbase(mpq_denref(q), 2);
  return labs(size) < LARGEST ? mpq_get_d(q) : NAN;
}

/* Is it an integer of 53 bits times a power of two? */
static bool
is_double(const rational *q)
{
  size_t n = mpz_sizeinbase(mpq_denref(q), 2) - 1;
  return mpz_sizeinbase(mpq_numref(q), 2) <= DBL_MANT_DIG && mpz_scan1(mpq_denref(q), 0) == n;
}

/* GMP cuts a quotient's digits behind the 53rd. */
span
span_of(const rational *q)
{
  double d = mpq_sgn(q) == 0 ? 0 : number_in_double(q);
  return is_double(q) ? (span){d, d} : (span){span_below(d), span_above(d)};
}

span
span_around(const interval *x)
{
  return (span){span_of(&x->lo).lo, span_of(&x->hi).hi};
}

bool
span_interval(interval *y, span a)
{
  if (!isfinite(a.lo) || !isfinite(a.hi))
    return false;
  mpq_set_d(&y->lo, a.lo);
  mpq_set_d(&y->hi, a.hi);
  return true;
}

/* ---- Algebra */

span
span_square(span a)
{
  span y = span_times(a, a);
  return y.lo < 0 ? (span){0, y.hi} : y;
}

/* IEEE 754 rounds quotients as it does sums. */
span
span_inverse(span a)
{
  return a.lo > 0 || a.hi < 0 ? (span){span_below(1 / a.hi), span_above(1 / a.lo)} : SPAN_UNKNOWN;
}

/* ---- Exponentials */

#define MOST_EXPONENT 700 /* exp of it, and of minus it, is no subnormal, and no overflow */
#define TERMS 13
#define EXP_RELATIVE 0x1p-45
#define ROUNDS 0x1.8p52 /* added to a number, and taken away, leaves a whole one */

/* Near exp(x), |x| <= MOST_EXPONENT; off by less than EXP_RELATIVE of itself.
 *
 * x = k log 2 + r, |r| < 0.36. HIGH has 32 bits, so k HIGH is exact, as |k| < 2^10. HIGH + LOW is log 2 but for 2^-85. The two differences
 * are off by 2^-54 at most, k LOW and what it lacks by less than 2^-70: so r by 2^-52, and exp(r) by as large a part of it, about.
 * Behind the term r^13 / 13! the series has less than 2^-56. Horner's sums with TERMS steps of two roundings, and coefficients that are
 * rounded, are off by 3 TERMS 2^-53 times the sum of all |r|^n / n!, which is less than 1.44; exp(r) > 0.69. All this is less than
 * 2^-52 + 2^-55 + 82 2^-53 < 2^-46. The power of two makes no rounding. */
static double
exp_near(double x)
{
  static const double inverse[TERMS + 1] = {
      1,         1,          1. / 2,      1. / 6,       1. / 24,       1. / 120,       1. / 720,
      1. / 5040, 1. / 40320, 1. / 362880, 1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800};
  static const double high = 0x1.62e42feep-1, low = 0x1.a39ef35793c76p-33;
  double k = (x * 0x1.71547652b82fep+0 + ROUNDS) - ROUNDS, r = (x - k * high) - k * low, y = inverse[TERMS];
  for (int n = TERMS; n-- > 0;)
    y = y * r + inverse[n];
  return ldexp(y, (int)k);
}

/* An end of exp(x); exp(0) is 1. */
static double
exp_end(double x, bool up)
{
  if (x == 0)
    return 1;
  if (!(x <= MOST_EXPONENT))
    return up || isnan(x) ? NAN : exp_end(MOST_EXPONENT, false);
  if (x < -MOST_EXPONENT)
    return up ? exp_end(-MOST_EXPONENT, true) : 0;
  double y = exp_near(x), off = y * EXP_RELATIVE;
  return up ? span_above(y + off) : span_below(y - off);
}

span
span_exp(span a)
{
  return (span){exp_end(a.lo, false), exp_end(a.hi, true)};
}

/* An end of 1 / (1 + exp(-t)); below 0 as exp(t) / (1 + exp(t)). Neither exponential is above 1, and both quotients rise with t: the first
 * falls, the second rises with its exponential. */
static double
logistic_end(double t, bool up)
{
  double e = exp_end(-fabs(t), t < 0 ? up : !up), all = 1 + e;
  double over = t < 0 ? e : 1;
  return up ? span_above(over / span_below(all)) : span_below(over / span_above(all));
}

span
span_logistic(span a)
{
  return (span){logistic_end(a.lo, false), logistic_end(a.hi, true)};
}

/* 1 + c a^2 */
static span
one_and_square(span square, double c)
{
  return span_add((span){1, 1}, span_times((span){span_below(c), span_above(c)}, square));
}

span
span_normal_tanh(span a, span *slope)
{
  const span root = {0x1.9884533d43650p+0, 0x1.9884533d43652p+0}; /* of 8 / pi */
  span square = span_square(a), of = span_times(root, one_and_square(square, 0.044715));
  span y = span_logistic(span_times(of, a));
  if (slope != NULL) {
    span steep = span_times(root, one_and_square(square, 0.134145));
    *slope = span_times(span_times(steep, y), span_add((span){1, 1}, span_negative(y)));
  }
  return y;
}

void
span_shares(span *y, const span *x, size_t n, span *total, double *top)
{
  *top = -INFINITY;
  *total = (span){0, 0};
  for (size_t i = 0; i < n; i++)
    *top = x[i].hi > *top ? x[i].hi : *top;
  for (size_t i = 0; i < n; i++) {
    y[i] = span_exp(span_add(x[i], (span){-*top, -*top}));
    *total = span_add(*total, y[i]);
  }
  span by = span_inverse(*total);
  for (size_t i = 0; i < n; i++)
    y[i] = span_times(y[i], by);
}
