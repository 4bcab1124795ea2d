/* Rationals as integers over common denominators. */
#ifndef CLARKE_REGION_DENOMINATOR_H
#define CLARKE_REGION_DENOMINATOR_H

#include <gmp.h>

#include <flint/fmpz.h>

/* den = lcm(den, that of q times d). */
void clarke_denominator_widen(fmpz_t den, const mpq_t q, const fmpz_t d);

/* to = q den / d, an integer when den was widened by q and d. */
void clarke_denominator_scale(fmpz_t to, const mpq_t q, const fmpz_t den, const fmpz_t d);

#endif
