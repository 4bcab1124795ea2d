/* How large the entries of a matrix are: their bits and bounds, words that are not needed, rounding. */
#include "exact/matrix.h"

#include "base/wide.h"
#include "exact/matrix_inside.h"
#include "exact/upward.h"

#include <stdlib.h>

/* A rounded enclosure keeps a denominator of at most that many bits: squares would double longer ones at every step. */
#define MOST_DEN 64

/* Is some entry -2^bits? Hardly ever is there even a candidate, and signs are as good as random: the
 * first look takes no branch. */
static bool
has_minus_power(const clarke_matrix *m, size_t bits)
{
  const size_t words = m->rows * m->cols * m->limbs, limbs = m->limbs, q = bits / 64;
  const uint64_t mask = ((uint64_t)1 << bits % 64) - 1;
  uint64_t candidates = 0;

  for (size_t e = 0; e < words; e += limbs)
    candidates |= m->word[e + limbs - 1] >> 63 & (uint64_t)((m->word[e + q] & mask) == 0);
  for (size_t e = 0; e < words && candidates != 0; e += limbs)
    if (clarke_word_negative(m->word + e, limbs) && (m->word[e + q] & mask) == 0
        && clarke_word_zero(m->word + e, q))
      return true;
  return false;
}

/* Word k of all entries together, of negative ones turned. Where limbs is a constant each has its own loop. */
static inline uint64_t
any_bits(const uint64_t *word, size_t count, size_t limbs, size_t k)
{
  uint64_t any = 0;

  for (size_t e = 0; e < count; e++)
    any |= word[e * limbs + k] ^ -(word[e * limbs + limbs - 1] >> 63);
  return any;
}

CLARKE_WIDE static uint64_t
bits_of_word(const uint64_t *word, size_t count, size_t limbs, size_t k)
{
  switch (limbs) {
  case 1:
    return any_bits(word, count, 1, 0);
  case 2:
    return k == 0 ? any_bits(word, count, 2, 0) : any_bits(word, count, 2, 1);
  case 3:
    return any_bits(word, count, 3, k);
  case 4:
    return any_bits(word, count, 4, k);
  default:
    return any_bits(word, count, limbs, k);
  }
}

/* ~w = |w| - 1 for a negative w, so when all ~w and all w >= 0 have at most `bits` bits (and one has
 * them all), only -2^bits needs one more. */
size_t
clarke_matrix_bits(const clarke_matrix *m)
{
  uint64_t any = 0;
  size_t bits;

  for (size_t k = m->limbs; k-- > 0;) {
    any |= bits_of_word(m->word, m->rows * m->cols, m->limbs, k);
    if (any == 0 && k > 0)
      continue;
    bits = 64 * k + (any == 0 ? 0 : 64 - (size_t)__builtin_clzll(any));
    return bits + has_minus_power(m, bits);
  }
  return 0;
}

/* The number of zero bits at the end of every entry; SIZE_MAX when all entries are zero. */
static size_t
common_zeros(const clarke_matrix *m)
{
  const size_t words = m->rows * m->cols * m->limbs;
  size_t zeros = SIZE_MAX;

  for (size_t k = 0; k < m->limbs; k++) {
    uint64_t any = 0;

    for (size_t e = k; e < words; e += m->limbs)
      any |= m->word[e];
    if (any == 0)
      continue;
    zeros = 64 * k + (size_t)__builtin_ctzll(any);
    break;
  }
  return zeros;
}

/* Divides den and every entry by what they have in common. */
static void
cancel_den(clarke_matrix *m)
{
  const size_t count = m->rows * m->cols;
  mpz_t common, value;

  mpz_inits(common, value, NULL);
  mpz_set(common, m->den);
  for (size_t k = 0; k < count && mpz_cmp_ui(common, 1) > 0; k++) {
    clarke_word_get(value, clarke_entry(m, k), m->limbs);
    mpz_gcd(common, common, value);
  }
  if (mpz_cmp_ui(common, 1) > 0) {
    mpz_divexact(m->den, m->den, common);
    for (size_t k = 0; k < count; k++) {
      clarke_word_get(value, clarke_entry(m, k), m->limbs);
      mpz_divexact(value, value, common);
      clarke_word_set(clarke_entry(m, k), m->limbs, value);
    }
  }
  mpz_clears(common, value, NULL);
}

/* to = from / 2^shift, shift no more than the zeros at its end; to_limbs words hold it. */
static void
shift_down(uint64_t *to, size_t to_limbs, const uint64_t *from, size_t from_limbs, size_t shift)
{
  const size_t skip = shift / 64;
  const unsigned bits = shift % 64;
  const uint64_t fill = clarke_word_fill(from, from_limbs);

  for (size_t k = 0; k < to_limbs; k++) {
    const uint64_t here = k + skip < from_limbs ? from[k + skip] : fill;
    const uint64_t above = k + skip + 1 < from_limbs ? from[k + skip + 1] : fill;

    to[k] = bits == 0 ? here : here >> bits | above << (64 - bits);
  }
}

clarke_status
clarke_matrix_trim(clarke_matrix *m, clarke_error *err)
{
  const size_t count = m->rows * m->cols;
  size_t zeros = common_zeros(m), bits, limbs;
  uint64_t *word;

  if (zeros == SIZE_MAX) {
    zeros = 0;
    m->exp = 0;
    mpz_set_ui(m->den, 1);
  } else if (mpz_cmp_ui(m->den, 1) != 0) {
    cancel_den(m);
  }
  if (m->exp + (long)zeros > CLARKE_MAX_EXP)
    zeros = 0;
  bits = clarke_matrix_bits(m);
  limbs = clarke_limbs_for(bits > zeros ? bits - zeros : 0);
  if (zeros == 0 && limbs == m->limbs)
    return CLARKE_OK;
  word = malloc((count * limbs + 1) * sizeof *word);
  if (word == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for a %zu x %zu matrix of %zu-word numbers",
                       m->rows, m->cols, limbs);
  for (size_t k = 0; k < count; k++)
    shift_down(word + k * limbs, limbs, clarke_entry(m, k), m->limbs, zeros);
  free(m->word);
  m->word = word;
  m->limbs = limbs;
  m->exp += (long)zeros;
  return CLARKE_OK;
}

/* Has the word a bit set below 2^bits? */
static bool
has_low_bits(const uint64_t *word, size_t bits)
{
  for (size_t l = 0; l < bits / 64; l++)
    if (word[l] != 0)
      return true;
  return bits % 64 != 0 && (word[bits / 64] & (((uint64_t)1 << bits % 64) - 1)) != 0;
}

/* Entry k of m over den, as a multiple of 2^exp, which is the unit below; its radius grows by what that takes. */
static void
divide_entry(uint64_t *word, clarke_matrix *m, size_t k, size_t limbs, long up, mpz_t value, mpz_t rest)
{
  clarke_word_get(value, clarke_entry(m, k), m->limbs);
  if (up >= 0)
    mpz_mul_2exp(value, value, (mp_bitcnt_t)up);
  mpz_fdiv_qr(value, rest, value, m->den);
  if (up < 0) {
    if (mpz_sgn(value) != 0 && mpz_scan1(value, 0) < (mp_bitcnt_t)-up)
      mpz_set_ui(rest, 1);
    mpz_fdiv_q_2exp(value, value, (mp_bitcnt_t)-up);
  }
  if (mpz_sgn(rest) != 0)
    m->radius[k] = clarke_up_add(m->radius[k], clarke_up_ldexp(1, m->exp - up));
  clarke_word_set(word + k * limbs, limbs, value);
}

/* An enclosure without its denominator, its midpoints of at most that many bits. */
static clarke_status
divide_all(clarke_matrix *m, size_t bits, clarke_error *err)
{
  const size_t count = m->rows * m->cols, limbs = clarke_limbs_for(bits + 1);
  /* |word| < 2^now, den >= 2^(size - 1): a quotient is below 2^(now - size + 1), and times 2^up at most 2^bits */
  const long up = (long)bits - (long)clarke_matrix_bits(m) + (long)mpz_sizeinbase(m->den, 2) - 1;
  uint64_t *word = malloc((count * limbs + 1) * sizeof *word);
  clarke_status status;
  mpz_t value, rest;

  if (word == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for a %zu x %zu matrix of %zu-word numbers", m->rows, m->cols, limbs);
  mpz_inits(value, rest, NULL);
  for (size_t k = 0; k < count; k++)
    divide_entry(word, m, k, limbs, up, value, rest);
  free(m->word);
  m->word = word;
  m->limbs = limbs;
  mpz_set_ui(rest, 1);
  status = clarke_matrix_set_scale(m, m->exp - up, rest, err);
  mpz_clears(value, rest, NULL);
  return status;
}

clarke_status
clarke_matrix_round(clarke_matrix *m, size_t bits, clarke_error *err)
{
  const size_t count = m->rows * m->cols, now = m->radius != NULL ? clarke_matrix_bits(m) : 0;
  size_t drop, limbs;
  clarke_scale_bound unit;
  uint64_t *word;

  if (m->radius != NULL && mpz_sizeinbase(m->den, 2) > MOST_DEN)
    return divide_all(m, bits, err);
  if (now <= bits || m->exp + (long)(now - bits) > CLARKE_MAX_EXP)
    return CLARKE_OK;
  drop = now - bits;
  limbs = clarke_limbs_for(bits + 1);
  word = malloc((count * limbs + 1) * sizeof *word);
  if (word == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for a %zu x %zu matrix of %zu-word numbers",
                       m->rows, m->cols, limbs);
  unit = clarke_matrix_scale_bound(m);
  for (size_t k = 0; k < count; k++) {
    if (has_low_bits(clarke_entry(m, k), drop)) /* rounded down by less than one unit in the last place */
      m->radius[k] = clarke_up_add(m->radius[k], clarke_up_ldexp(unit.mant, unit.exp + (long)drop));
    shift_down(word + k * limbs, limbs, clarke_entry(m, k), m->limbs, drop);
  }
  free(m->word);
  m->word = word;
  m->limbs = limbs;
  m->exp += (long)drop;
  return CLARKE_OK;
}

/* --- bounds ---------------------------------------------------------------------------------- */

clarke_scale_bound
clarke_matrix_scale_bound(const clarke_matrix *m)
{
  clarke_scale_bound bound = { 1, m->exp };

  if (mpz_cmp_ui(m->den, 1) != 0) {
    signed long e;
    /* truncated: low * 2^e <= den, low in [1/2, 1) */
    const double low = mpz_get_d_2exp(&e, m->den);

    bound.mant = clarke_up_by(1 / low, 1);
    bound.exp = m->exp - e;
  }
  return bound;
}

double
clarke_matrix_magnitude(const clarke_matrix *m, clarke_scale_bound bound, size_t index)
{
  const uint64_t *word = clarke_entry(m, index);
  const uint64_t fill = clarke_word_fill(word, m->limbs);
  size_t top = m->limbs - 1;
  double x;

  while (top > 0 && (word[top] ^ fill) == 0)
    top--;
  x = (double)(word[top] ^ fill);
  if (top > 0) {
    /* |w| <= (w_top 2^64 + w_(top-1) + 1) 2^(64 (top-1)), and every sum rounds by 2^-53 at most. */
    x = clarke_up_by(x * 0x1p64 + (double)(word[top - 1] ^ fill) + 1, 4);
    bound.exp += 64 * (long)(top - 1);
  } else if (x >= 0x1p53) {
    x = clarke_up_by(x + 1, 2);
  } else {
    x += fill & 1;
  }
  return clarke_up_ldexp(bound.mant == 1 ? x : clarke_up_mul(x, bound.mant), bound.exp);
}
