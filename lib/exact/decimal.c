#include "exact/decimal.h"

#include <stdio.h>
#include <string.h>

#define DIGITS 6

/* q * 10^k, rounded down; *all: it is no less. */
static void
scaled_down(mpz_t scaled, bool *all, const mpq_t q, long k)
{
  mpz_t power, rest;

  mpz_inits(power, rest, NULL);
  mpz_ui_pow_ui(power, 10, (unsigned long)(k < 0 ? -k : k));
  if (k >= 0) {
    mpz_mul(scaled, mpq_numref(q), power);
    mpz_fdiv_qr(scaled, rest, scaled, mpq_denref(q));
  } else {
    mpz_mul(power, power, mpq_denref(q));
    mpz_fdiv_qr(scaled, rest, mpq_numref(q), power);
  }
  *all = mpz_sgn(rest) == 0;
  mpz_clears(power, rest, NULL);
}

/* digits: six of them, the first before the point of a number times 10^exponent. */
static void
write_digits(char *text, char *digits, long exponent)
{
  size_t n = DIGITS;

  while (n > 1 && digits[n - 1] == '0')
    n--;
  digits[n] = '\0';
  if (exponent < -4 || exponent >= DIGITS)
    snprintf(text, CLARKE_DECIMAL_ROOM, "%c%s%se%s%02ld", digits[0], n > 1 ? "." : "", digits + 1,
             exponent < 0 ? "-" : "+", exponent < 0 ? -exponent : exponent);
  else if (exponent < 0)
    snprintf(text, CLARKE_DECIMAL_ROOM, "0.%.*s%s", (int)-exponent - 1, "0000", digits);
  else {
    const size_t before = (size_t)exponent + 1;

    snprintf(text, CLARKE_DECIMAL_ROOM, "%.*s%.*s%s%s", (int)before, digits, n < before ? (int)(before - n) : 0, "000000",
             n > before ? "." : "", n > before ? digits + before : "");
  }
}

bool
clarke_decimal_down(char *text, const mpq_t q)
{
  /* log10(2) is a little more than 0.30102: the guess is off by one or two, and by that many digits corrected. */
  const double bits = (double)mpz_sizeinbase(mpq_numref(q), 2) - (double)mpz_sizeinbase(mpq_denref(q), 2);
  long exponent = (long)(bits * 0.30103) + 2;
  char digits[DIGITS + 3];
  bool exactly;
  mpz_t scaled;

  if (mpq_sgn(q) == 0) {
    strcpy(text, "0");
    return true;
  }
  mpz_init(scaled);
  do
    scaled_down(scaled, &exactly, q, DIGITS - 1 - --exponent);
  while (mpz_cmp_ui(scaled, 100000) < 0);
  mpz_get_str(digits, 10, scaled);
  mpz_clear(scaled);
  write_digits(text, digits, exponent);
  return exactly;
}
