/* Arithmetic on upper bounds: every function returns a double that is at least the exact result for
 * nonnegative operands, in round-to-nearest, subnormals and overflow (to infinity) included.
 *
 * For a normal s, s * (1 + 2^-52) >= s + ulp(s); for a subnormal s, rounding was off by at most
 * half the smallest double. An infinite bound means "not known"; zero times it is zero, for the
 * quantity it bounds is finite. */
#ifndef CLARKE_EXACT_UPWARD_H
#define CLARKE_EXACT_UPWARD_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define CLARKE_TINY 0x1p-1074

/* The larger, or a NaN if there is one. */
static inline double
clarke_larger(double a, double b)
{
  return a >= b ? a : b >= a ? b : NAN;
}

static inline double
clarke_up_add(double a, double b)
{
  if (a == 0 || b == 0)
    return a + b;
  return (a + b) * (1 + 0x1p-52);
}

static inline double
clarke_up_mul(double a, double b)
{
  if (a == 0 || b == 0)
    return 0;
  return a * b * (1 + 0x1p-52) + CLARKE_TINY;
}

/* a * 2^e */
static inline double
clarke_up_ldexp(double a, long e)
{
  double r;

  if (a == 0)
    return 0;
  if (e >= -1022 && e <= 1023) { /* the power is a double, and one product rounds as ldexp does */
    const uint64_t bits = (uint64_t)(e + 1023) << 52;
    double power;

    memcpy(&power, &bits, sizeof power);
    r = a * power;
  } else
    r = ldexp(a, e > 5000 ? 5000 : e < -5000 ? -5000 : (int)e);
  return r < DBL_MIN ? r + CLARKE_TINY : r;
}

#endif
