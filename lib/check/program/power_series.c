/* Products and quotients of power series. */
#include "check/program/power_series.h"

void
series_mul(interval *y, const interval *a, const interval *b, size_t n)
{
  for (size_t k = 0; k < n; k++) {
    interval_set(&y[k], &zero, &zero);
    for (size_t j = 0; j <= k; j++)
      interval_addmul(&y[k], &a[j], &b[k - j]);
  }
}

void
series_div(interval *y, const interval *a, const interval *b, size_t n)
{
  for (size_t k = 0; k < n; k++) {
    INTERVAL(sum);
    INTERVAL(t);
    for (size_t j = 1; j <= k; j++)
      interval_addmul(&sum, &b[j], &y[k - j]);
    interval_set(&t, &a[k].lo, &a[k].hi);
    interval_add(&t, &sum, &minus_one);
    require(interval_sign(b, "whether a divisor is zero") != 0, "a division by zero, or a derivative that is infinite");
    interval_div(&y[k], &t, b);
  }
}
