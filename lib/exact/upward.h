/* Arithmetic on bounds: the one place where a number is rounded up or down by hand (tests/arrows/upward.py).
 *
 * Operations by themselves: every function returns a double that is at least the exact result for nonnegative operands, in
 * round-to-nearest, subnormals and overflow (to infinity) included. For a normal s, s * (1 + 2^-52) >= s + ulp(s); for a
 * subnormal s, rounding was off by at most half the smallest double. An infinite bound means "not known"; zero times it is
 * zero, for the quantity it bounds is finite.
 *
 * Several roundings at once: v was made in doubles of numbers >= 0 by additions, multiplications, divisions and square roots,
 * and each of these numbers went through at most n of them, with 1 <= n <= 2^50. What GMP, MPFR or libm give in one step counts for
 * as many roundings as it may be off by halves of a unit in the last place: mpq_get_d, which truncates, for 2. With u = 2^-53, v is
 * at least (1 - u)^n times what it stands for, and at most 1 / (1 - u)^n times that (Higham, Accuracy and Stability of Numerical
 * Algorithms, Lemma 3.1), but for underflow. As (1 - u)^-n <= 1 + n u / (1 - n u), and that is at most (1 + 2 n u)(1 - u) for
 * n from 2 to 2^50, the factor 1 + n 2^-52 makes up for all n of them and for the product by itself; for n = 1 it does so as above.
 * Likewise (1 - 2 n u)(1 + u)^(n + 1) <= (1 - 2 n u) / (1 - (n + 1) u) <= 1. Both factors are doubles where n is an integer. */
#ifndef CLARKE_EXACT_UPWARD_H
#define CLARKE_EXACT_UPWARD_H

#include <float.h>
#include <gmp.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define CLARKE_TINY 0x1p-1074
/* Half the distance from 1 to the next double: what one rounding takes at most, relatively. */
#define CLARKE_UNIT 0x1p-53

/* The larger, or a NaN if there is one. */
static inline double
clarke_larger(double a, double b)
{
  return a >= b ? a : b >= a ? b : NAN;
}

/* At least the sum of two numbers that are not negative. */
static inline double
clarke_up_add(double a, double b)
{
  if (a == 0 || b == 0)
    return a + b;
  return (a + b) * (1 + 0x1p-52);
}

/* At least the product of two numbers that are not negative. */
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

/* --- several roundings ------------------------------------------------------------------------ */

/* What n roundings multiply a number by, at most. */
static inline double
clarke_up_factor(double n)
{
  return 1 + n * 0x1p-52;
}

/* At least what v stands for. Nothing underflowed. */
static inline double
clarke_up_by(double v, double n)
{
  return v * clarke_up_factor(n);
}

/* The same, where underflow took less than half of `lost`. */
static inline double
clarke_up_over(double v, double n, double lost)
{
  return v * clarke_up_factor(n) + lost;
}

/* At most what v stands for. Nothing underflowed. A difference of two doubles is one rounding, too; where v is negative, so is
 * the answer. */
static inline double
clarke_down_by(double v, double n)
{
  return v * (1 - n * 0x1p-52);
}

/* At least the root of a sum of so many squares, which is made in doubles in whatever order: each square goes through fewer
 * roundings than there are, and may underflow. */
static inline double
clarke_up_root(double sum, size_t squares)
{
  return clarke_up_by(sqrt(clarke_up_by(sum + (double)squares * CLARKE_TINY, (double)squares + 4)), 2);
}

/* At least what n roundings take of numbers whose absolute values add up to `mass`, which may itself have been rounded 2^50
 * times: 2 n u (1 - 2^50 u)(1 - u) >= n u / (1 - n u), as n u <= 1/8. Nothing underflowed. */
static inline double
clarke_taken(double n, double mass)
{
  return n * 0x1p-52 * mass;
}

/* At least n unit / (1 - n unit), where an operation takes `unit` at most, relatively: what n of them in a row take of a sum of
 * absolute values (Higham, Lemma 3.1). n unit <= 2^-21, so that the quotient's denominator is no less than 1 - 2^-21. */
static inline double
clarke_gamma(double n, double unit)
{
  return n * unit * (1 + 0x1p-20);
}

/* The same for n unit <= 1/8, of n operations less four: what these would take is more than what this rounds. */
static inline double
clarke_gamma_of_many(double n, double unit)
{
  return n * unit / (1 - n * unit);
}

/* --- conversions ------------------------------------------------------------------------------ */

/* At least v >= 0 that was truncated, or is off by less than a unit in the last place; and at most such a v, of any sign. */
static inline double
clarke_above(double v)
{
  return nextafter(v, INFINITY);
}

/* The double next below v. */
static inline double
clarke_below(double v)
{
  return nextafter(v, -INFINITY);
}

/* At least v >= 0, as a float; infinity for a NaN. */
static inline float
clarke_up_float(double v)
{
  double up = v * (1 + 0x1p-22) + 0x1p-140;

  return (float)(v <= 0x1p127 ? up : (double)INFINITY);
}

/* The smallest float that is no smaller. */
static inline float
clarke_least_float(double v)
{
  const float near = (float)v;

  return (double)near >= v ? near : nextafterf(near, INFINITY);
}

/* At least |q|. */
double clarke_up_rational(mpq_srcptr q);

#endif
