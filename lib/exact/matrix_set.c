/* Matrices from exact values: doubles and rationals, under their common scale. */
#include "exact/matrix.h"

#include "exact/matrix_inside.h"

#include <math.h>
#include <string.h>

/* --- doubles --------------------------------------------------------------------------------- */

/* A finite double is mant * 2^exp, negated when sign is 1; infinities and NaN have exp 972. */
typedef struct {
  uint64_t mant, sign;
  int exp;
} split_double;

#define SPLIT_NOT_FINITE 972

static inline split_double
split(double value)
{
  uint64_t bits, normal;
  split_double s;

  memcpy(&bits, &value, sizeof bits);
  normal = (bits >> 52 & 2047) != 0;
  s.mant = (bits & (((uint64_t)1 << 52) - 1)) | normal << 52;
  s.sign = bits >> 63;
  s.exp = (int)(bits >> 52 & 2047) - 1074 - (int)normal;
  return s;
}

/* All nonzero values are odd multiples of 2^low and up, and below 2^high; low > high when all are
 * zero. No branch depends on a value: signs and zeros come as they like. */
static bool
extent_of_doubles(int *low, int *high, const double *values, size_t count)
{
  bool finite = true;

  *low = INT32_MAX;
  *high = INT32_MIN;
  for (size_t k = 0; k < count; k++) {
    const split_double s = split(values[k]);
    const uint64_t guarded = s.mant | (uint64_t)(s.mant == 0);
    const int first = s.mant == 0 ? INT32_MAX : s.exp + __builtin_ctzll(guarded);
    const int end = s.mant == 0 ? INT32_MIN : s.exp + 64 - __builtin_clzll(guarded);

    *low = first < *low ? first : *low;
    *high = end > *high ? end : *high;
    finite &= s.exp != SPLIT_NOT_FINITE;
  }
  return finite;
}

static clarke_status
not_finite(const double *values, size_t count, size_t cols, clarke_error *err)
{
  size_t k = 0;

  while (k < count && isfinite(values[k]))
    k++;
  return clarke_fail(err, CLARKE_EINPUT, "entry (%zu, %zu) is %s; it must be finite", k / cols,
                     k % cols, isnan(values[k]) ? "NaN" : "infinite");
}

/* value / 2^low, which is an integer of 63 bits or fewer. A zero may be shifted by anything. */
static inline uint64_t
small_word(double value, int low)
{
  const split_double s = split(value);
  const int up = s.exp - low;
  const uint64_t left = s.mant << (up & 63), right = s.mant >> (-up & 63);

  return ((up >= 0 ? left : right) ^ -s.sign) + s.sign;
}

static void
set_long_word(uint64_t *word, size_t limbs, double value, int low)
{
  split_double s = split(value);
  int up = s.exp - low;

  if (s.mant == 0)
    return;
  if (up < 0) {
    s.mant >>= -up;
    up = 0;
  }
  s.mant = (s.mant ^ -s.sign) + s.sign;
  clarke_word_shift(word, limbs, &s.mant, 1, (size_t)up);
}

clarke_status
clarke_matrix_set_doubles(clarke_matrix *m, size_t rows, size_t cols, const double *values,
                          clarke_error *err)
{
  int low, high;
  size_t count;
  clarke_status status;

  if (__builtin_mul_overflow(rows, cols, &count))
    return clarke_fail(err, CLARKE_ENOMEM, "a %zu x %zu matrix is too large", rows, cols);
  if (!extent_of_doubles(&low, &high, values, count))
    return not_finite(values, count, cols, err);
  if (low > high)
    low = high = 0;
  status = clarke_matrix_shape_bits(m, rows, cols, (size_t)(high - low), err);
  if (status != CLARKE_OK)
    return status;
  m->exp = low;
  if (m->limbs == 1)
    for (size_t k = 0; k < count; k++)
      m->word[k] = small_word(values[k], low);
  else
    for (size_t k = 0; k < count; k++)
      set_long_word(clarke_entry(m, k), m->limbs, values[k], low);
  return CLARKE_OK;
}

/* --- rationals ------------------------------------------------------------------------------- */

/* exp <= every power of two in the values; den = the lcm of the odd parts of the denominators.
 * False when den or the spread of exponents gets too large. */
static bool
common_scale(long *exp, mpz_t den, mpq_t *values, size_t count)
{
  bool first = true, fits = true;
  mpz_t odd;

  mpz_init(odd);
  mpz_set_ui(den, 1);
  *exp = 0;
  for (size_t k = 0; k < count && fits; k++) {
    long twos;

    if (mpq_sgn(values[k]) == 0)
      continue;
    twos = (long)mpz_scan1(mpq_numref(values[k]), 0) - (long)mpz_scan1(mpq_denref(values[k]), 0);
    *exp = first || twos < *exp ? twos : *exp;
    first = false;
    mpz_tdiv_q_2exp(odd, mpq_denref(values[k]), mpz_scan1(mpq_denref(values[k]), 0));
    mpz_lcm(den, den, odd);
    fits = mpz_sizeinbase(den, 2) <= 64 * CLARKE_MAX_LIMBS;
  }
  mpz_clear(odd);
  return fits && *exp <= CLARKE_MAX_EXP && *exp >= -CLARKE_MAX_EXP;
}

/* word = value den / 2^exp, an integer; false when it would need more than the limit's bits. */
static bool
rational_word(mpz_t word, const mpq_t value, long exp, const mpz_t den)
{
  const size_t twos = mpq_sgn(value) == 0 ? 0 : mpz_scan1(mpq_denref(value), 0);
  long shift;
  mpz_t odd;

  if (mpq_sgn(value) == 0) {
    mpz_set_ui(word, 0);
    return true;
  }
  mpz_init(odd);
  mpz_tdiv_q_2exp(odd, mpq_denref(value), twos);
  mpz_divexact(odd, den, odd);
  mpz_mul(word, mpq_numref(value), odd);
  mpz_clear(odd);
  shift = -(long)twos - exp;
  if (shift > 64 * CLARKE_MAX_LIMBS)
    return false;
  if (shift >= 0)
    mpz_mul_2exp(word, word, (mp_bitcnt_t)shift);
  else
    mpz_tdiv_q_2exp(word, word, (mp_bitcnt_t)-shift);
  return mpz_sizeinbase(word, 2) < 64 * CLARKE_MAX_LIMBS;
}

clarke_status
clarke_matrix_set_rationals(clarke_matrix *m, size_t rows, size_t cols, mpq_t *values,
                            clarke_error *err)
{
  clarke_status status;
  bool fits = true;
  size_t bits = 0;
  long exp;
  mpz_t den, word;

  status = clarke_matrix_resize(m, rows, cols, 1, err);
  if (status != CLARKE_OK)
    return status;
  mpz_inits(den, word, NULL);
  fits = common_scale(&exp, den, values, rows * cols);
  for (size_t k = 0; k < rows * cols && fits; k++) {
    fits = rational_word(word, values[k], exp, den);
    if (mpz_sgn(word) != 0 && mpz_sizeinbase(word, 2) > bits)
      bits = mpz_sizeinbase(word, 2);
  }
  if (!fits)
    status = clarke_fail(err, CLARKE_ENOMEM,
                         "rationals that need more than %d bits over a common denominator",
                         64 * CLARKE_MAX_LIMBS);
  else
    status = clarke_matrix_shape_bits(m, rows, cols, bits, err);
  for (size_t k = 0; k < rows * cols && status == CLARKE_OK; k++) {
    rational_word(word, values[k], exp, den);
    clarke_word_set(clarke_entry(m, k), m->limbs, word);
  }
  if (status == CLARKE_OK)
    status = clarke_matrix_set_scale(m, exp, den, err);
  mpz_clears(den, word, NULL);
  return status;
}
