/* Numbers with bounds (record_number.h). */
#include "check/record/record_number.h"
#include "check/base/allocate.h"

#include <stdlib.h>

#define MOST                                                                                                           \
  16384 /* bits of an exact number: those of float64 have 2100, products of three of them three times as many */

number *
number_new(size_t n)
{
  number *y = allocate(n, sizeof *y);
  for (size_t i = 0; i < n; i++)
    y[i] = (number){.x = interval_nought()};
  return y;
}

void
number_free(number *y, size_t n)
{
  for (size_t i = 0; y != NULL && i < n; i++)
    interval_clear(&y[i].x);
  free(y);
}

static size_t
rational_bytes(const rational *q)
{
  return (mpz_size(mpq_numref(q)) + mpz_size(mpq_denref(q))) * sizeof(mp_limb_t);
}

size_t
number_bytes(const number *y, size_t n)
{
  size_t all = n * sizeof *y;
  for (size_t i = 0; i < n; i++)
    all += rational_bytes(&y[i].x.lo) + rational_bytes(&y[i].x.hi);
  return all;
}

cotangent *
cotangents_new(size_t n)
{
  cotangent *h = allocate(n, sizeof *h);
  for (size_t i = 0; i < n; i++)
    h[i] = (cotangent){.x = interval_nought()};
  return h;
}

void
cotangents_free(cotangent *h, size_t n)
{
  for (size_t i = 0; h != NULL && i < n; i++)
    interval_clear(&h[i].x);
  free(h);
}

/* What is squared time and again, of what was not recorded, would have twice as many bits each time. */
void
number_round(interval *x)
{
  size_t bits = mpz_sizeinbase(mpq_numref(&x->lo), 2) + mpz_sizeinbase(mpq_denref(&x->lo), 2);
  INTEGER(z);
  if (!interval_exact(x) || bits <= MOST) {
    interval_round(x);
    return;
  }
  fixed(&z, &x->lo, session_bits, false);
  unfixed(&x->lo, &z, session_bits);
  fixed(&z, &x->hi, session_bits, true);
  unfixed(&x->hi, &z, session_bits);
}

/* ---- Bounds */

bound
least_size(const interval *x)
{
  if (mpq_sgn(&x->lo) > 0)
    return bound_of(&x->lo);
  return mpq_sgn(&x->hi) < 0 ? bound_of(&x->hi) : (bound){0, 0};
}

void
most_size(rational *q, const interval *x)
{
  RATIONAL(low);
  mpq_abs(&low, &x->lo);
  mpq_abs(q, &x->hi);
  if (mpq_cmp(&low, q) > 0)
    mpq_set(q, &low);
}

bound
number_rest(const interval *x, bound off)
{
  RATIONAL(most);
  most_size(&most, x);
  return bound_less(bound_above(&most), off);
}

bound
size_of(const number *y)
{
  return bound_add(least_size(&y->x), y->off);
}

bool
number_is_nothing(const number *y, bound mass)
{
  return interval_zero(&y->x) && y->off.m == 0 && mass.m == 0;
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
