/* Bounds of 64 bits (record_bound.h). */
#include "check/record/record_bound.h"

#include <math.h>

/* The top 64 bits of |z|, of so many bits beside 2^e. */
static bound
top_of(const integer *z, long e)
{
  size_t n = mpz_size(z);
  if (n == 0)
    return (bound){0, 0};
  mp_limb_t high = mpz_getlimbn(z, (mp_size_t)n - 1), low = n > 1 ? mpz_getlimbn(z, (mp_size_t)n - 2) : 0;
  int by = __builtin_clzll(high);
  return (bound){by == 0 ? high : high << by | low >> (64 - by), e + 64 * ((long)n - 1) - by};
}

bound
bound_of(const rational *q)
{
  long bits = (long)mpz_sizeinbase(mpq_denref(q), 2) - 1;
  INTEGER(z);
  if (mpz_scan1(mpq_denref(q), 0) == (mp_bitcnt_t)bits) /* 2^bits */
    return top_of(mpq_numref(q), -bits);
  long by = bits + 66 - (long)mpz_sizeinbase(mpq_numref(q), 2); /* so that the quotient has 64 bits */
  by = by > 0 ? by : 0;
  mpz_mul_2exp(&z, mpq_numref(q), (mp_bitcnt_t)by);
  mpz_tdiv_q(&z, &z, mpq_denref(q));
  return top_of(&z, -by);
}

bound
bound_of_double(double x)
{
  int e;
  if (x == 0 || !isfinite(x))
    return (bound){0, 0};
  double m = frexp(fabs(x), &e); /* from a half on */
  return (bound){(uint64_t)ldexp(m, 64), e - 64L};
}

bound
bound_above(const rational *q)
{
  bound a = bound_of(q);
  if (a.m == 0)
    return a;
  return a.m + 1 == 0 ? (bound){1ull << 63, a.e + 1} : (bound){a.m + 1, a.e};
}

void
bound_get(rational *q, bound a)
{
  mpq_set_ui(q, a.m, 1);
  if (a.e >= 0)
    mpq_mul_2exp(q, q, (mp_bitcnt_t)a.e);
  else
    mpq_div_2exp(q, q, (mp_bitcnt_t)-a.e);
}

bound
bound_over(bound a, bound b)
{
  if (a.m == 0)
    return a;
  twice_as_long q = ((twice_as_long)a.m << 64) / b.m; /* of 64 or 65 bits */
  int more = (int)(q >> 64);
  return (bound){(uint64_t)(q >> more), a.e - b.e - 64 + more};
}

bound
bound_less(bound a, bound b)
{
  if (!bound_below(b, a))
    return (bound){0, 0};
  uint64_t m = a.m - (b.m == 0 || a.e - b.e >= 64 ? 0 : b.m >> (a.e - b.e));
  int by = __builtin_clzll(m);
  return (bound){m << by, a.e - by};
}

bound
bound_quotient(uint64_t n, uint64_t d)
{
  return bound_over(bound_natural(n), bound_natural(d));
}
