/* Intervals of doubles, in which composed nodes are followed first (docs/proof-format.md, "In doubles"). Doubles are those of IEEE 754,
 * rounded to nearest, each operation by itself.
 *
 * An operation's result x is within 2^-53 |x| + 2^-1075 of the exact one. |x| 2^-51 + 2^-1000 is four times that and more, and so are
 * three quarters of it, which are left when it is taken from x and rounded: x is moved to the exact number or beyond it. An end that is
 * NaN or infinite says nothing; where an operation overflows, infinity less infinity is NaN. */
#ifndef CLARKE_CHECK_BASE_SPAN_H
#define CLARKE_CHECK_BASE_SPAN_H

#include "check/base/value.h"

#include <math.h>

typedef struct {
  double lo, hi;
} span;

#define SPAN_UNKNOWN ((span){NAN, NAN})
#define SPAN_RELATIVE 0x1p-51
#define SPAN_LEAST 0x1p-1000 /* no subnormal, with which processors are slow */

/* At most the exact result that was rounded to x. */
static inline double
span_below(double x)
{
  return x - (fabs(x) * SPAN_RELATIVE + SPAN_LEAST);
}

/* At least that. */
static inline double
span_above(double x)
{
  return x + (fabs(x) * SPAN_RELATIVE + SPAN_LEAST);
}

/* Is it exactly 0? */
static inline bool
span_zero(span a)
{
  return a.lo == 0 && a.hi == 0;
}

/* -a */
static inline span
span_negative(span a)
{
  return (span){-a.hi, -a.lo};
}

/* What is added to 0 is not rounded. */
static inline span
span_add(span a, span b)
{
  return span_zero(a) ? b : span_zero(b) ? a : (span){span_below(a.lo + b.lo), span_above(a.hi + b.hi)};
}

/* With 0 it is 0, whatever is known of the other number. Else the ends are among four products. */
static inline span
span_times(span a, span b)
{
  if (span_zero(a) || span_zero(b))
    return (span){0, 0};
  double p = a.lo * b.lo, q = a.lo * b.hi, r = a.hi * b.lo, s = a.hi * b.hi;
  if (isnan(p + q + r + s))
    return SPAN_UNKNOWN;
  double lo = p < q ? p : q, hi = p < q ? q : p, low = r < s ? r : s, high = r < s ? s : r;
  return (span){span_below(lo < low ? lo : low), span_above(hi < high ? high : hi)};
}

/* q, cut to a double's digits; NaN: it is very large or small. */
double number_in_double(const rational *q);
span span_of(const rational *q);            /* holds q */
span span_around(const interval *x);        /* holds x */
bool span_interval(interval *y, span a);    /* y = a exactly; false: an end says nothing */
span span_square(span a);                   /* at least 0 */
span span_inverse(span a);                  /* 1 / a, where a is surely of one sign */
span span_exp(span a);                      /* exp(a) */
span span_logistic(span a);                 /* 1 / (1 + exp(-a)) */
span span_normal_tanh(span a, span *slope); /* logistic(sqrt(8 / pi) (a + 0.044715 a^3)), and its slope */
void span_shares(span *y, const span *x, size_t n, span *total,
                 double *top); /* softmax: exp(x - top), over their total */

#endif
