/* Common denominators (denominator.h). */
#include "region/denominator.h"

void
clarke_denominator_widen(fmpz_t den, const mpq_t q, const fmpz_t d)
{
  fmpz_t more;

  fmpz_init(more);
  fmpz_set_mpz(more, mpq_denref(q));
  fmpz_mul(more, more, d);
  fmpz_lcm(den, den, more);
  fmpz_clear(more);
}

void
clarke_denominator_scale(fmpz_t to, const mpq_t q, const fmpz_t den, const fmpz_t d)
{
  fmpz_t part;

  fmpz_init(part);
  fmpz_set_mpz(part, mpq_denref(q));
  fmpz_mul(part, part, d);
  fmpz_divexact(part, den, part);
  fmpz_set_mpz(to, mpq_numref(q));
  fmpz_mul(to, to, part);
  fmpz_clear(part);
}
