/* Axes of a figure. */
#ifndef CLARKE_TOOLS_DERIVE_AXIS_H
#define CLARKE_TOOLS_DERIVE_AXIS_H

#include <stdint.h>

/* Its limits, ticks at first, first + 1, ..., last times step = digit 10^exponent, drawn from pixel `from` to pixel `to`.
 * To begin with low is infinite, and high -infinite. */
typedef struct {
  double low, high, from, to;
  int64_t first, last;
  int digit, exponent;
} clarke_axis;

/* The limits hold x, if it is finite. */
void clarke_axis_widen(clarke_axis *a, double x);
/* The limits, farther apart by that part of their distance, and about `ticks` ticks. Numbers beyond 1e300 are left out by the
 * caller. */
void clarke_axis_settle(clarke_axis *a, double margin, int ticks);

/* Where x is; where tick n is, between the limits by the same formula. */
double clarke_axis_pixel(const clarke_axis *a, double x);
double clarke_axis_tick(const clarke_axis *a, int64_t n);

#endif
