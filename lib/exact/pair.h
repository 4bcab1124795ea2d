/* Numbers as pairs of doubles, high + low with |low| at most half a unit in the last place of high. Each operation is off by at
 * most 7 u^2 of its result, u = 2^-53 (Joldes, Muller, Popescu, Tight and rigorous error bounds for basic building blocks of
 * double-word arithmetic, 2017: algorithms 4, 6 and 10), but for underflow. Nothing is contracted: meson.build says so. */
#ifndef CLARKE_EXACT_PAIR_H
#define CLARKE_EXACT_PAIR_H

#include "exact/ball.h"

/* What an operation on pairs takes at most, relatively. */
#define CLARKE_PAIR_UNIT 0x1p-103

typedef struct {
  double high, low;
} clarke_pair;

/* a + b without error. */
static inline clarke_pair
clarke_two_sum(double a, double b)
{
  const double s = a + b, t = s - a;

  return (clarke_pair){s, (a - (s - t)) + (b - t)};
}

/* The same where |a| >= |b|, or a is 0. */
static inline clarke_pair
clarke_two_sum_fast(double a, double b)
{
  const double s = a + b;

  return (clarke_pair){s, b - (s - a)};
}

/* a b without error (Dekker). */
static inline clarke_pair
clarke_two_product(double a, double b)
{
  const double p = a * b, x = 134217729 * a, y = 134217729 * b;
  const double a_high = x - (x - a), b_high = y - (y - b), a_low = a - a_high, b_low = b - b_high;

  return (clarke_pair){p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

/* x + y for a double y, rounded to a pair. */
static inline clarke_pair
clarke_pair_add_double(clarke_pair x, double y)
{
  const clarke_pair s = clarke_two_sum(x.high, y);

  return clarke_two_sum_fast(s.high, x.low + s.low);
}

/* x + y, rounded to a pair. */
static inline clarke_pair
clarke_pair_add(clarke_pair x, clarke_pair y)
{
  const clarke_pair s = clarke_two_sum(x.high, y.high), t = clarke_two_sum(x.low, y.low);
  const clarke_pair v = clarke_two_sum_fast(s.high, s.low + t.high);

  return clarke_two_sum_fast(v.high, t.low + v.low);
}

/* x y, rounded to a pair. */
static inline clarke_pair
clarke_pair_multiply(clarke_pair x, clarke_pair y)
{
  const clarke_pair c = clarke_two_product(x.high, y.high);

  return clarke_two_sum_fast(c.high, c.low + (x.high * y.low + x.low * y.high));
}

/* A rational, and 1 / sqrt(q), q > 0, off by half a unit of pairs: by 4 u^2, as a rational's second double is truncated. */
clarke_pair clarke_pair_of(const mpq_t q);
clarke_pair clarke_pair_of_root(const mpq_t q);

/* The middle of a ball, and what that is off by; infinity where nothing is known. */
clarke_pair clarke_pair_of_ball(double *off, const arb_t ball);
/* Exactly. */
void clarke_ball_of_pair(arb_t ball, clarke_pair x);

/* A sum of pairs in three parts, zero to begin with. Of m pairs it is made of n = 2 m doubles, whose sizes are S together. What
 * TwoSum leaves of the first part goes to the second, n u S at most, and of the second to the third, n^2 u^2 S, which alone
 * rounds: the parts are off by n^3 u^3 S at most, but for terms of higher order, and their pair by 4 u^2 of itself more. */
typedef struct {
  double first, second, third;
} clarke_long_sum;

/* Adds a double to the three parts. */
static inline void
clarke_long_sum_add_double(clarke_long_sum *to, double x)
{
  const clarke_pair a = clarke_two_sum(to->first, x), b = clarke_two_sum(to->second, a.low);

  to->first = a.high;
  to->second = b.high;
  to->third += b.low;
}

/* Adds a pair: both of its doubles. */
static inline void
clarke_long_sum_add(clarke_long_sum *to, clarke_pair x)
{
  clarke_long_sum_add_double(to, x.high);
  if (x.low != 0)
    clarke_long_sum_add_double(to, x.low);
}

/* Joins sums that are made side by side, so that additions wait for no other: the first becomes that of all. */
static inline void
clarke_long_sum_join(clarke_long_sum *sum, int n)
{
  for (int i = 1; i < n; i++) {
    clarke_long_sum_add_double(sum, sum[i].first);
    clarke_long_sum_add_double(sum, sum[i].second);
    clarke_long_sum_add_double(sum, sum[i].third);
  }
}

/* The sum of the parts, rounded to a pair. */
static inline clarke_pair
clarke_long_sum_pair(const clarke_long_sum *sum)
{
  const clarke_pair s = clarke_two_sum(sum->first, sum->second);
  const clarke_pair t = clarke_two_sum(s.low, sum->third), v = clarke_two_sum(s.high, t.high);

  return clarke_two_sum(v.high, v.low + t.low);
}

#endif
