/* Literals of programs and command lines, exactly (number.h):
 *
 *   NUMBER = [+-] DECIMAL [SUFFIX] | [+-] DIGITS / DIGITS | [+-] 0x HEX [SUFFIX]
 *   DECIMAL = DIGITS [. [DIGITS]] [e [+-] DIGITS], or . DIGITS ...; HEX likewise with p, a power of 2
 *   SUFFIX = f (float32), h (float16), d (float64): the nearest of that format, ties to even
 *
 * Rounding is done in integers: no float has a say. A value that rounds to infinity is refused. */
#include "exact/literal.h"

#include <string.h>

#define MOST_DIGITS 4096
#define MOST_EXPONENT 4096

/* Finite numbers of a format: m 2^e with |m| < 2^bits, lowest <= e, value < 2^top. */
typedef struct {
  char suffix;
  unsigned long bits;
  long lowest, top;
} ieee;

static const ieee formats[] = {
  { 'h', 11, -24, 16 }, { 'f', 24, -149, 128 }, { 'd', 53, -1074, 1024 },
};

/* digits: all digits without the point, scale: how many of them follow the point. */
typedef struct {
  char digits[MOST_DIGITS + 1];
  size_t n, scale;
  long exponent;
} numeral;

static int
digit_value(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return 16;
}

/* Digits of the base from *s on, put after those there are; false when there are too many. */
static bool
read_digits(numeral *number, const char **s, int base)
{
  for (; digit_value(**s) < base; (*s)++) {
    if (number->n == MOST_DIGITS)
      return false;
    number->digits[number->n++] = **s;
  }
  number->digits[number->n] = '\0';
  return true;
}

/* An exponent after its letter, if the letter is there. */
static bool
read_exponent(numeral *number, const char **s, char letter)
{
  bool minus = false;

  if (**s != letter && **s != letter - 'a' + 'A')
    return true;
  (*s)++;
  if (**s == '+' || **s == '-')
    minus = *(*s)++ == '-';
  if (digit_value(**s) > 9)
    return false;
  for (; digit_value(**s) <= 9; (*s)++) {
    number->exponent = 10 * number->exponent + digit_value(**s);
    if (number->exponent > MOST_EXPONENT)
      return false;
  }
  if (minus)
    number->exponent = -number->exponent;
  return true;
}

static bool
read_numeral(numeral *number, const char **s, int base)
{
  size_t whole;

  number->n = number->scale = 0;
  number->exponent = 0;
  if (!read_digits(number, s, base))
    return false;
  whole = number->n;
  if (**s == '.') {
    (*s)++;
    if (!read_digits(number, s, base))
      return false;
    number->scale = number->n - whole;
  }
  return number->n > 0 && read_exponent(number, s, base == 16 ? 'p' : 'e');
}

/* value *= base^exponent. */
static void
scale(mpq_t value, unsigned long base, long exponent)
{
  mpz_t power;

  mpz_init(power);
  mpz_ui_pow_ui(power, base, (unsigned long)(exponent < 0 ? -exponent : exponent));
  if (exponent < 0)
    mpz_mul(mpq_denref(value), mpq_denref(value), power);
  else
    mpz_mul(mpq_numref(value), mpq_numref(value), power);
  mpq_canonicalize(value);
  mpz_clear(power);
}

static bool
numeral_value(mpq_t value, const numeral *number, int base)
{
  mpz_set_ui(mpq_denref(value), 1);
  if (mpz_set_str(mpq_numref(value), number->digits, base) != 0)
    return false;
  if (base == 16) {
    scale(value, 2, number->exponent - 4 * (long)number->scale);
    return true;
  }
  scale(value, 10, number->exponent - (long)number->scale);
  return true;
}

/* The e with 2^e <= value < 2^(e + 1); value > 0. */
static long
binary_exponent(const mpq_t value)
{
  long e = (long)mpz_sizeinbase(mpq_numref(value), 2) - (long)mpz_sizeinbase(mpq_denref(value), 2);
  mpq_t power;
  bool below;

  mpq_init(power);
  mpq_set_ui(power, 1, 1);
  scale(power, 2, e);
  below = mpq_cmp(value, power) < 0;
  mpq_clear(power);
  return below ? e - 1 : e;
}

/* m = the integer nearest to value >= 0, to the even one of two. */
static void
nearest_integer(mpz_t m, const mpq_t value)
{
  mpz_t twice;
  int beyond;

  mpz_init(twice);
  mpz_fdiv_qr(m, twice, mpq_numref(value), mpq_denref(value));
  mpz_mul_2exp(twice, twice, 1);
  beyond = mpz_cmp(twice, mpq_denref(value));
  if (beyond > 0 || (beyond == 0 && mpz_odd_p(m)))
    mpz_add_ui(m, m, 1);
  mpz_clear(twice);
}

/* value >= 0 becomes the format's nearest number; false when that is infinity. */
static bool
round_to(mpq_t value, const ieee *format)
{
  mpq_t limit;
  long unit;
  bool finite;

  if (mpq_sgn(value) == 0)
    return true;
  unit = binary_exponent(value) - (long)format->bits + 1;
  if (unit < format->lowest)
    unit = format->lowest;
  scale(value, 2, -unit);
  nearest_integer(mpq_numref(value), value);
  mpz_set_ui(mpq_denref(value), 1);
  scale(value, 2, unit);
  mpq_init(limit);
  mpq_set_ui(limit, 1, 1);
  scale(limit, 2, format->top);
  finite = mpq_cmp(value, limit) < 0;
  mpq_clear(limit);
  return finite;
}

/* The rest of the text is one suffix, or nothing. */
static bool
apply_suffix(mpq_t value, const char *s)
{
  if (*s == '\0')
    return true;
  for (size_t k = 0; k < sizeof formats / sizeof formats[0]; k++)
    if (*s == formats[k].suffix && s[1] == '\0')
      return round_to(value, &formats[k]);
  return false;
}

/* "/ DIGITS" after an integer. */
static bool
divide_by(mpq_t value, numeral *number, const char *s)
{
  number->n = 0;
  if (!read_digits(number, &s, 10) || number->n == 0 || *s != '\0'
      || mpz_set_str(mpq_denref(value), number->digits, 10) != 0
      || mpz_sgn(mpq_denref(value)) == 0) {
    mpz_set_ui(mpq_denref(value), 1);
    return false;
  }
  mpq_canonicalize(value);
  return true;
}

static bool
parse_unsigned(mpq_t value, const char *s)
{
  const int base = s[0] == '0' && (s[1] == 'x' || s[1] == 'X') ? 16 : 10;
  const char *start = s + (base == 16 ? 2 : 0);
  numeral number;

  s = start;
  if (!read_numeral(&number, &s, base) || !numeral_value(value, &number, base))
    return false;
  if (base == 10 && *s == '/' && (size_t)(s - start) == number.n)
    return divide_by(value, &number, s + 1);
  return apply_suffix(value, s);
}

bool
clarke_literal_parse(mpq_t value, const char *text)
{
  const bool minus = *text == '-';

  if (*text == '-' || *text == '+')
    text++;
  if (!parse_unsigned(value, text))
    return false;
  if (minus)
    mpq_neg(value, value);
  return true;
}
