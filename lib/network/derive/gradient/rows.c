/* Rows of doubles, and of pairs. */
#include "network/derive/gradient/rows.h"

#include "base/wide.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

CLARKE_WIDE static void
add(double *restrict to, const double *restrict x, size_t n)
{
  for (size_t i = 0; i < n; i++)
    to[i] += x[i];
}

void
clarke_rows_add(double *to, const double *x, size_t n)
{
  add(to, x, n);
}

CLARKE_WIDE static void
add_multiple(double *restrict to, double factor, const double *restrict x, size_t n)
{
  for (size_t i = 0; i < n; i++)
    to[i] += factor * x[i];
}

void
clarke_rows_add_multiple(double *to, double factor, const double *x, size_t n)
{
  add_multiple(to, factor, x, n);
}

CLARKE_WIDE static void
add_scaled(double *restrict high, double *restrict low, double unit, const double *restrict x, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    const clarke_pair sum = clarke_pair_add_double((clarke_pair){high[i], low[i]}, unit * x[i]);

    high[i] = sum.high;
    low[i] = sum.low;
  }
}

void
clarke_rows_add_scaled(double *high, double *low, double unit, const double *x, size_t n)
{
  add_scaled(high, low, unit, x, n);
}

CLARKE_WIDE static void
add_digits(double *restrict high, double *restrict low, double unit, const float *restrict x, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    const clarke_pair sum = clarke_pair_add_double((clarke_pair){high[i], low[i]}, unit * (double)x[i]);

    high[i] = sum.high;
    low[i] = sum.low;
  }
}

void
clarke_rows_add_digits(double *high, double *low, double unit, const float *x, size_t n)
{
  add_digits(high, low, unit, x, n);
}

CLARKE_WIDE static void
add_pairs(double *restrict high, double *restrict low, const double *restrict x, const double *restrict x_low, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    const clarke_pair sum = clarke_pair_add((clarke_pair){high[i], low[i]}, (clarke_pair){x[i], x_low[i]});

    high[i] = sum.high;
    low[i] = sum.low;
  }
}

void
clarke_rows_add_pairs(double *high, double *low, const double *x, const double *x_low, size_t n)
{
  add_pairs(high, low, x, x_low, n);
}

CLARKE_WIDE static void
add_pair_multiples(double *restrict high, double *restrict low, double factor, double factor_low, const double *restrict x,
                   const double *restrict x_low, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    const clarke_pair term = clarke_pair_multiply((clarke_pair){factor, factor_low}, (clarke_pair){x[i], x_low[i]});
    const clarke_pair sum = clarke_pair_add((clarke_pair){high[i], low[i]}, term);

    high[i] = sum.high;
    low[i] = sum.low;
  }
}

void
clarke_rows_add_pair_multiples(double *high, double *low, clarke_pair factor, const double *x, const double *x_low, size_t n)
{
  add_pair_multiples(high, low, factor.high, factor.low, x, x_low, n);
}

CLARKE_WIDE static void
add_products(double *restrict high, double *restrict low, const double *x, const double *x_low, const double *y,
             const double *y_low, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    const clarke_pair term = clarke_pair_multiply((clarke_pair){x[i], x_low[i]}, (clarke_pair){y[i], y_low[i]});
    const clarke_pair sum = clarke_pair_add((clarke_pair){high[i], low[i]}, term);

    high[i] = sum.high;
    low[i] = sum.low;
  }
}

void
clarke_rows_add_products(double *high, double *low, const double *x, const double *x_low, const double *y, const double *y_low,
                         size_t n)
{
  add_products(high, low, x, x_low, y, y_low, n);
}

/* --- places ------------------------------------------------------------------------------------ */

size_t
clarke_rows_run(const size_t *place, size_t left)
{
  size_t run = 1;

  while (run < left && place[run] == (place[0] == CLARKE_NONE ? CLARKE_NONE : place[0] + run))
    run++;
  return run;
}

void
clarke_rows_gather(double *to, const double *x, const size_t *place, size_t places, size_t n)
{
  for (size_t c = 0, run; c < places; c += run) {
    run = clarke_rows_run(place + c, places - c);
    if (place[c] == CLARKE_NONE)
      memset(to + c * n, 0, run * n * sizeof *to);
    else
      memcpy(to + c * n, x + place[c] * n, run * n * sizeof *to);
  }
}

/* --- pieces ------------------------------------------------------------------------------------ */

/* x, or 0, by its bits. */
static inline double
masked(double x, int64_t mask)
{
  int64_t bits;

  memcpy(&bits, &x, sizeof bits);
  bits &= mask;
  memcpy(&x, &bits, sizeof x);
  return x;
}

CLARKE_WIDE static void
take(double *restrict to, const double *restrict x, const clarke_branch *restrict piece, clarke_branch one, clarke_branch other,
     size_t n)
{
  for (size_t i = 0; i < n; i++)
    to[i] = masked(x[i], -(int64_t)((piece[i] == one) | (piece[i] == other)));
}

void
clarke_rows_take(double *to, const double *x, const clarke_branch *piece, clarke_branch one, clarke_branch other, size_t n)
{
  take(to, x, piece, one, other, n);
}

CLARKE_WIDE static void
add_taken(double *restrict to, const double *restrict x, const clarke_branch *restrict piece, clarke_branch one, size_t n)
{
  for (size_t i = 0; i < n; i++)
    to[i] += masked(x[i], -(int64_t)(piece[i] == one));
}

void
clarke_rows_add_taken(double *to, const double *x, const clarke_branch *piece, clarke_branch one, size_t n)
{
  add_taken(to, x, piece, one, n);
}

CLARKE_WIDE static void
add_taken_pairs(double *restrict high, double *restrict low, const double *restrict x, const double *restrict x_low,
                const clarke_branch *restrict piece, clarke_branch one, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    const int64_t mask = -(int64_t)(piece[i] == one);
    const clarke_pair sum = clarke_pair_add((clarke_pair){high[i], low[i]}, (clarke_pair){masked(x[i], mask), masked(x_low[i], mask)});

    high[i] = sum.high;
    low[i] = sum.low;
  }
}

void
clarke_rows_add_taken_pairs(double *high, double *low, const double *x, const double *x_low, const clarke_branch *piece,
                           clarke_branch one, size_t n)
{
  add_taken_pairs(high, low, x, x_low, piece, one, n);
}

/* --- sizes, and slices --------------------------------------------------------------------------- */

CLARKE_WIDE static void
add_squares(double *restrict squares, const double *restrict x, size_t stride, size_t rows, size_t n)
{
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < n; j++)
      squares[j] += x[i * stride + j] * x[i * stride + j];
}

void
clarke_rows_add_squares(double *squares, const double *x, size_t stride, size_t rows, size_t n)
{
  add_squares(squares, x, stride, rows, n);
}

/* As numbers' bits order them. */
CLARKE_WIDE static int64_t
largest(const double *restrict x, size_t n)
{
  int64_t most = 0;

  for (size_t i = 0; i < n; i++) {
    int64_t bits;

    memcpy(&bits, &x[i], sizeof bits);
    bits &= INT64_MAX;
    most = bits > most ? bits : most;
  }
  return most;
}

double
clarke_rows_largest(const double *x, size_t n)
{
  const int64_t most = largest(x, n);
  double v;

  memcpy(&v, &most, sizeof v);
  return v;
}

CLARKE_WIDE static uint64_t
cut(double *restrict slice, double *restrict high, double *restrict low, double by, double per_unit, size_t n)
{
  uint64_t any = 0;

  for (size_t i = 0; i < n; i++) {
    const double digit = (high[i] + by) - by;
    const clarke_pair rest = clarke_two_sum(high[i] - digit, low[i]); /* both without error */
    uint64_t bits;

    memcpy(&bits, &digit, sizeof bits);
    any |= bits;
    slice[i] = digit * per_unit;
    high[i] = rest.high;
    low[i] = rest.low;
  }
  return any;
}

bool
clarke_rows_cut(double *slice, double *high, double *low, double unit, size_t n)
{
  return cut(slice, high, low, 0x1.8p52 * unit, 1 / unit, n) != 0;
}
