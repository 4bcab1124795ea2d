#include "exact/float8.h"

#include <math.h>

/* How many bits the fraction has; is it one of those with one zero; are there infinities? */
static const struct {
  int fraction;
  bool one_zero, infinite;
} formats[] = {
  [CLARKE_F8_E4M3FN] = {3, false, false}, [CLARKE_F8_E4M3FNUZ] = {3, true, false},
  [CLARKE_F8_E5M2] = {2, false, true}, [CLARKE_F8_E5M2FNUZ] = {2, true, false},
};

bool
clarke_float8_is(clarke_dtype dtype)
{
  return dtype >= CLARKE_F8_E4M3FN && dtype <= CLARKE_F8_E5M2FNUZ;
}

double
clarke_float8_value(clarke_dtype dtype, uint8_t code)
{
  const int fraction = formats[dtype].fraction, top = (1 << (7 - fraction)) - 1, bias = top / 2 + formats[dtype].one_zero;
  const int exponent = code >> fraction & top, f = code & ((1 << fraction) - 1);
  const double sign = code >> 7 ? -1 : 1;

  if (formats[dtype].one_zero ? code == 0x80 : exponent == top && (formats[dtype].infinite ? f != 0 : f == (1 << fraction) - 1))
    return (double)NAN;
  if (formats[dtype].infinite && exponent == top)
    return sign * (double)INFINITY;
  return sign * (exponent == 0 ? ldexp(f, 1 - bias - fraction) : ldexp(f + (1 << fraction), exponent - bias - fraction));
}

size_t
clarke_float8_grid(clarke_dtype dtype, double *number, bool *even)
{
  size_t n = 0;

  for (unsigned code = 0xff; code > 0x80; code--) /* in order from the largest size down */
    if (isfinite(clarke_float8_value(dtype, (uint8_t)code))) {
      number[n] = clarke_float8_value(dtype, (uint8_t)code);
      even[n++] = code % 2 == 0;
    }
  for (unsigned code = 0; code < 0x80; code++)
    if (isfinite(clarke_float8_value(dtype, (uint8_t)code))) {
      number[n] = clarke_float8_value(dtype, (uint8_t)code);
      even[n++] = code % 2 == 0;
    }
  return n;
}

double
clarke_float8_nearest(clarke_dtype dtype, double x)
{
  double number[CLARKE_FLOAT8_MOST];
  bool even[CLARKE_FLOAT8_MOST];
  const size_t n = clarke_float8_grid(dtype, number, even);
  size_t i = 0;

  while (i + 1 < n && (x > (number[i] + number[i + 1]) / 2 || (x == (number[i] + number[i + 1]) / 2 && even[i + 1])))
    i++;
  return number[i];
}
