/* Upper bounds on what is off, as numbers of 64 bits that are rounded down each time (docs/proof-format.md, "Composed
 * nodes"): what is made of them is at most what the formula says, so that no entry is called within what it is not. */
#ifndef CLARKE_CHECK_RECORD_BOUND_H
#define CLARKE_CHECK_RECORD_BOUND_H

#include "check/base/value.h"

#include <stdint.h>

__extension__ typedef unsigned __int128 twice_as_long;

/* m 2^e, at least 0: m is 0, or has its highest bit. */
typedef struct {
  uint64_t m;
  long e;
} bound;

bound bound_of(const rational *q);            /* |q|, rounded down */
bound bound_of_double(double x);              /* |x|, as it is; of what is no number, 0 */
void bound_get(rational *q, bound a);         /* q = a exactly */
bound bound_over(bound a, bound b);           /* a / b, b > 0 */
bound bound_less(bound a, bound b);           /* a - b, or 0, rounded *up*: for what divides */
bound bound_above(const rational *q);         /* |q|, rounded up: likewise */
bound bound_quotient(uint64_t n, uint64_t d); /* n / d, d > 0 */

static inline bound
bound_scale(bound a, long e) /* a 2^e */
{
  return (bound){a.m, a.e + e};
}

/* a < b? */
static inline bool
bound_below(bound a, bound b)
{
  return a.m == 0 || b.m == 0 || a.e == b.e ? a.m < b.m : a.e < b.e;
}

/* The larger one. */
static inline bound
bound_most(bound a, bound b)
{
  return bound_below(a, b) ? b : a;
}

/* a b, rounded down. */
static inline bound
bound_times(bound a, bound b)
{
  twice_as_long p = (twice_as_long)a.m * b.m;
  int top = (int)(p >> 127);
  return a.m == 0 || b.m == 0 ? (bound){0, 0} : (bound){(uint64_t)(p >> (63 + top)), a.e + b.e + 63 + top};
}

/* a + b, rounded down. */
static inline bound
bound_add(bound a, bound b)
{
  if (bound_below(a, b))
    return bound_add(b, a);
  if (b.m == 0 || a.e - b.e >= 64)
    return a;
  uint64_t m = a.m + (b.m >> (a.e - b.e));
  return m < a.m ? (bound){m >> 1 | 1ull << 63, a.e + 1} : (bound){m, a.e};
}

/* y + a b */
static inline bound
bound_add_times(bound y, bound a, bound b)
{
  return bound_add(y, bound_times(a, b));
}

/* n exactly. */
static inline bound
bound_natural(uint64_t n)
{
  return n == 0 ? (bound){0, 0} : (bound){n << __builtin_clzll(n), -__builtin_clzll(n)};
}

#endif
