/* Numbers with bounds (record_number.h). */
#include "check/record/record_number.h"
#include "check/base/allocate.h"

#include <stdlib.h>

#define MOST                                                                                                           \
  16384 /* bits of an exact number: those of float64 have 2100, products of three of them three times as many */

number *
number_new(size_t n, bool doubles)
{
  number *y = allocate(n, sizeof *y);
  interval *z = doubles ? NULL : intervals(n);
  for (size_t i = 0; i < n && !doubles; i++)
    y[i].x.z = &z[i];
  return y;
}

void
number_free(number *y, size_t n)
{
  if (y != NULL && n > 0)
    intervals_free(y->x.z, n);
  free(y);
}

size_t
number_bytes(const number *y, size_t n)
{
  size_t all = n * sizeof *y;
  for (size_t i = 0; i < n; i++)
    all += enclosure_bytes(&y[i].x);
  return all;
}

cotangent *
cotangents_new(size_t n, bool doubles)
{
  cotangent *h = allocate(n, sizeof *h);
  interval *z = doubles ? NULL : intervals(n);
  for (size_t i = 0; i < n && !doubles; i++)
    h[i].x.z = &z[i];
  return h;
}

void
cotangents_free(cotangent *h, size_t n)
{
  if (h != NULL && n > 0)
    intervals_free(h->x.z, n);
  free(h);
}

/* What is squared time and again, of what was not recorded, would have twice as many bits each time. */
void
number_round(enclosure *of)
{
  interval *x = of->z;
  size_t bits = x == NULL ? 0 : mpz_sizeinbase(mpq_numref(&x->lo), 2) + mpz_sizeinbase(mpq_denref(&x->lo), 2);
  INTEGER(z);
  if (x == NULL || !interval_exact(x) || bits <= MOST) {
    enclosure_round(of);
    return;
  }
  fixed(&z, &x->lo, session_bits, false);
  unfixed(&x->lo, &z, session_bits);
  fixed(&z, &x->hi, session_bits, true);
  unfixed(&x->hi, &z, session_bits);
}

/* ---- Bounds */

bound
size_of(const number *y)
{
  return bound_add(least_size(&y->x), y->off);
}

bool
number_bounded(const number *y, bool open)
{
  return !open && enclosure_sharp(&y->x, size_of(y));
}

bool
number_is_nothing(const number *y, bound mass)
{
  return (y->x.z == NULL || interval_zero(y->x.z)) && y->off.m == 0 && mass.m == 0;
}

bool
add_rounding(bound *off, size_t type, size_t n, bound mass)
{
  unsigned long k = dtypes[type].fraction + 1;
  bound most = bound_scale(bound_natural(1), (long)type_most(type) - 2);
  if (n >= 1ul << (k - 1) || bound_below(most, mass))
    return false;
  *off = bound_add_times(*off, bound_quotient(n, (1ul << k) - n), mass);
  *off = bound_add(*off, bound_scale(bound_natural(4 * n), -(long)type_tiny(type)));
  return true;
}
