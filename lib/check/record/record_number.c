/* Numbers with bounds (record_number.h). */
#include "check/record/record_number.h"
#include "check/base/allocate.h"

#include <stdlib.h>

#define KEPT 64 /* bits of a bound */
#define MOST                                                                                                           \
  16384 /* bits of an exact number: those of float64 have 2100, products of three of them three times as many */

number *
number_new(size_t n)
{
  number *y = allocate(n, sizeof *y);
  for (size_t i = 0; i < n; i++)
    y[i] = (number){interval_nought(), rational_zero(), rational_zero(), false};
  return y;
}

void
number_free(number *y, size_t n)
{
  for (size_t i = 0; y != NULL && i < n; i++) {
    interval_clear(&y[i].x);
    mpq_clears(&y[i].off, &y[i].wide, NULL);
  }
  free(y);
}

handed *
handed_new(size_t n)
{
  handed *h = allocate(n, sizeof *h);
  for (size_t i = 0; i < n; i++)
    h[i] = (handed){interval_nought(), rational_zero(), rational_zero(), 0, false};
  return h;
}

void
handed_free(handed *h, size_t n)
{
  for (size_t i = 0; h != NULL && i < n; i++) {
    interval_clear(&h[i].x);
    mpq_clears(&h[i].off, &h[i].mass, NULL);
  }
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

/* q >= 0, rounded down to so many bits. */
static void
shorten(rational *q)
{
  long top = (long)mpz_sizeinbase(mpq_numref(q), 2), bottom = (long)mpz_sizeinbase(mpq_denref(q), 2);
  long by = KEPT - (top - bottom);
  INTEGER(z);
  if (top + bottom <= 2 * KEPT || mpq_sgn(q) == 0)
    return;
  if (by >= 0) {
    fixed(&z, q, (unsigned long)by, false);
    unfixed(q, &z, (unsigned long)by);
  } else {
    mpz_fdiv_q(mpq_numref(q), mpq_numref(q), mpq_denref(q));
    mpz_fdiv_q_2exp(mpq_numref(q), mpq_numref(q), (mp_bitcnt_t)-by);
    mpz_mul_2exp(mpq_numref(q), mpq_numref(q), (mp_bitcnt_t)-by);
    mpz_set_ui(mpq_denref(q), 1);
  }
}

void
least_size(rational *q, const interval *x)
{
  if (mpq_sgn(&x->lo) > 0)
    mpq_set(q, &x->lo);
  else if (mpq_sgn(&x->hi) < 0)
    mpq_neg(q, &x->hi);
  else
    mpq_set(q, &zero);
  shorten(q);
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

void
size_of(rational *q, const number *y)
{
  least_size(q, &y->x);
  mpq_add(q, q, &y->off);
}

void
add_times(rational *y, const rational *a, const rational *b)
{
  RATIONAL(t);
  if (mpq_sgn(a) == 0 || mpq_sgn(b) == 0)
    return;
  mpq_mul(&t, a, b);
  mpq_add(y, y, &t);
  shorten(y);
}

bool
number_is_nothing(const number *y, const rational *mass)
{
  return interval_zero(&y->x) && mpq_sgn(&y->off) == 0 && mpq_sgn(mass) == 0;
}

bool
add_rounding(rational *off, size_t type, size_t n, const rational *mass)
{
  unsigned long k = dtypes[type].fraction + 1;
  RATIONAL(t);
  RATIONAL(most);
  if (n >= 1ul << (k - 1))
    return false;
  mpq_set_ui(&most, 1, 1);
  mpq_mul_2exp(&most, &most, type_most(type) - 2);
  if (mpq_cmp(mass, &most) > 0)
    return false;
  mpq_set_ui(&t, n, (1ul << k) - n);
  mpq_canonicalize(&t);
  add_times(off, &t, mass);
  mpq_set_ui(&t, 4 * n, 1);
  mpq_div_2exp(&t, &t, type_tiny(type));
  mpq_add(off, off, &t);
  shorten(off);
  return true;
}
