#include "derive_axis.h"

#include <math.h>
#include <stddef.h>

void
clarke_axis_widen(clarke_axis *a, double x)
{
  if (!isfinite(x))
    return;
  a->low = x < a->low ? x : a->low;
  a->high = x > a->high ? x : a->high;
}

/* digit 10^exponent: the least of 1, 2, 5 times a power of ten that is no less than x > 0. */
static double
round_step(clarke_axis *a, double x)
{
  static const int digits[] = {1, 2, 5};
  double power = 1;

  for (a->exponent = 0; power > x; a->exponent--)
    power /= 10;
  for (; power * 10 <= x; a->exponent++)
    power *= 10;
  for (size_t k = 0; k < 3; k++)
    if (digits[k] * power >= x) {
      a->digit = digits[k];
      return digits[k] * power;
    }
  a->digit = 1;
  a->exponent++;
  return power * 10;
}

void
clarke_axis_settle(clarke_axis *a, double margin, int ticks)
{
  double size, step;

  if (!(a->low <= a->high))
    a->low = a->high = 0;
  size = a->high - a->low;
  if (size <= 1e-12 * fmax(fabs(a->low), fabs(a->high)) || size < 1e-290) {
    double around = a->low == 0 || fabs(a->low) < 1e-280 ? 1 : fabs(a->low) / 2;

    a->low -= around;
    a->high += around;
    size = a->high - a->low;
  }
  a->low -= margin * size;
  a->high += margin * size;
  step = round_step(a, (a->high - a->low) / ticks);
  a->first = (int64_t)ceil(a->low / step);
  a->last = (int64_t)floor(a->high / step);
}

double
clarke_axis_pixel(const clarke_axis *a, double x)
{
  return a->from + (x - a->low) / (a->high - a->low) * (a->to - a->from);
}

double
clarke_axis_tick(const clarke_axis *a, int64_t n)
{
  double x = (double)n * a->digit;

  for (int k = 0; k < a->exponent; k++)
    x *= 10;
  for (int k = a->exponent; k < 0; k++)
    x /= 10;
  return clarke_axis_pixel(a, x);
}
