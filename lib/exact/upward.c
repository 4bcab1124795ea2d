#include "exact/upward.h"

double
clarke_up_rational(mpq_srcptr q)
{
  signed long top, bottom;
  double n, d;

  if (mpq_sgn(q) == 0)
    return 0;
  /* both truncated toward zero, exact for 53 bits or fewer */
  n = fabs(mpz_get_d_2exp(&top, mpq_numref(q)));
  d = mpz_get_d_2exp(&bottom, mpq_denref(q));
  if (mpz_sizeinbase(mpq_numref(q), 2) > 53)
    n = clarke_up_by(n, 2);
  n /= d;
  if (mpz_popcount(mpq_denref(q)) != 1)
    n = clarke_up_by(n, 2);
  return clarke_up_ldexp(n, top - bottom);
}
