/* Matrices of integers under one scale (matrix.h): their storage and their entries. */
#include "exact/matrix.h"

#include "exact/matrix_inside.h"
#include "base/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* So many words of an entry are rounded to a double without GMP. */
#define FEW_LIMBS 8

void
clarke_matrix_init(clarke_matrix *m)
{
  m->rows = m->cols = 0;
  m->limbs = 1;
  m->word = NULL;
  m->exp = 0;
  mpz_init_set_ui(m->den, 1);
  m->radius = NULL;
}

void
clarke_matrix_clear(clarke_matrix *m)
{
  free(m->word);
  free(m->radius);
  mpz_clear(m->den);
  m->word = NULL;
  m->radius = NULL;
  m->rows = m->cols = 0;
}

clarke_matrix *
clarke_matrices_new(size_t n)
{
  clarke_matrix *m = malloc((n + 1) * sizeof *m);

  for (size_t i = 0; m != NULL && i < n; i++)
    clarke_matrix_init(&m[i]);
  return m;
}

void
clarke_matrices_free(clarke_matrix *m, size_t n)
{
  for (size_t i = 0; m != NULL && i < n; i++)
    clarke_matrix_clear(&m[i]);
  free(m);
}

bool
clarke_matrix_is_valid(const clarke_matrix *m)
{
  const size_t count = m->rows * m->cols;
  bool valid = m->limbs >= 1 && m->limbs <= CLARKE_MAX_LIMBS && mpz_sgn(m->den) > 0 && mpz_odd_p(m->den) &&
               m->exp <= CLARKE_MAX_EXP && m->exp >= -CLARKE_MAX_EXP && (count == 0 || m->word != NULL);

  for (size_t i = 0; valid && m->radius != NULL && i < count; i++)
    valid = m->radius[i] >= 0;
  return valid;
}

void
clarke_matrix_swap(clarke_matrix *a, clarke_matrix *b)
{
  const clarke_matrix kept = *a;

  *a = *b;
  *b = kept;
}

clarke_status
clarke_matrix_resize(clarke_matrix *m, size_t rows, size_t cols, size_t limbs, clarke_error *err)
{
  size_t count, words;
  uint64_t *word;

  if (limbs == 0 || limbs > CLARKE_MAX_LIMBS)
    return clarke_fail(err, CLARKE_ENOMEM, "numbers of %zu words; at most %d are computed with",
                       limbs, CLARKE_MAX_LIMBS);
  if (__builtin_mul_overflow(rows, cols, &count) || __builtin_mul_overflow(count, limbs, &words)
      || words > SIZE_MAX / 16)
    return clarke_fail(err, CLARKE_ENOMEM, "a %zu x %zu matrix is too large", rows, cols);
  word = calloc(words + 1, sizeof *word);
  if (word == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for a %zu x %zu matrix of %zu-word numbers",
                       rows, cols, limbs);
  free(m->word);
  free(m->radius);
  m->word = word;
  m->radius = NULL;
  m->rows = rows;
  m->cols = cols;
  m->limbs = limbs;
  m->exp = 0;
  mpz_set_ui(m->den, 1);
  return CLARKE_OK;
}

clarke_status
clarke_matrix_shape_bits(clarke_matrix *m, size_t rows, size_t cols, size_t bits,
                         clarke_error *err)
{
  return clarke_matrix_resize(m, rows, cols, clarke_limbs_for(bits), err);
}

clarke_status
clarke_matrix_set_scale(clarke_matrix *m, long exp, const mpz_t den, clarke_error *err)
{
  if (exp > CLARKE_MAX_EXP || exp < -CLARKE_MAX_EXP)
    return clarke_fail(err, CLARKE_ENOMEM, "a scale of 2^%ld is out of range", exp);
  if (mpz_sizeinbase(den, 2) > 64 * CLARKE_MAX_LIMBS)
    return clarke_fail(err, CLARKE_ENOMEM, "a common denominator of more than %d bits",
                       64 * CLARKE_MAX_LIMBS);
  m->exp = exp;
  mpz_set(m->den, den);
  return CLARKE_OK;
}

clarke_status
clarke_matrix_need_radius(clarke_matrix *m, clarke_error *err)
{
  if (m->radius == NULL)
    m->radius = calloc(m->rows * m->cols + 1, sizeof *m->radius);
  if (m->radius == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu x %zu radii", m->rows, m->cols);
  return CLARKE_OK;
}

clarke_status
clarke_matrix_copy(clarke_matrix *c, const clarke_matrix *a, clarke_error *err)
{
  const size_t count = a->rows * a->cols;
  clarke_matrix fresh;
  clarke_status status;

  if (c == a)
    return CLARKE_OK;
  clarke_matrix_init(&fresh);
  status = clarke_matrix_resize(&fresh, a->rows, a->cols, a->limbs, err);
  if (status == CLARKE_OK && a->radius != NULL)
    status = clarke_matrix_need_radius(&fresh, err);
  if (status == CLARKE_OK) {
    if (count > 0)
      memcpy(fresh.word, a->word, count * a->limbs * sizeof *a->word);
    if (count > 0 && a->radius != NULL)
      memcpy(fresh.radius, a->radius, count * sizeof *a->radius);
    fresh.exp = a->exp;
    mpz_set(fresh.den, a->den);
    clarke_matrix_swap(c, &fresh);
  }
  clarke_matrix_clear(&fresh);
  return status;
}

/* --- entries --------------------------------------------------------------------------------- */

void
clarke_word_get(mpz_t value, const uint64_t *word, size_t limbs)
{
  const mp_limb_t *from = (const mp_limb_t *)word;
  const bool negative = clarke_word_negative(word, limbs);
  mp_limb_t *to = mpz_limbs_write(value, (mp_size_t)limbs);

  if (negative)
    mpn_neg(to, from, (mp_size_t)limbs);
  else
    mpn_copyi(to, from, (mp_size_t)limbs);
  mpz_limbs_finish(value, negative ? -(mp_size_t)limbs : (mp_size_t)limbs);
}

void
clarke_word_set(uint64_t *word, size_t limbs, const mpz_t value)
{
  const size_t have = mpz_size(value);
  mp_limb_t *to = (mp_limb_t *)word;

  memset(word, 0, limbs * sizeof *word);
  if (have > 0)
    mpn_copyi(to, mpz_limbs_read(value), (mp_size_t)(have < limbs ? have : limbs));
  if (mpz_sgn(value) < 0)
    mpn_neg(to, to, (mp_size_t)limbs);
}

void
clarke_matrix_load(mpz_t value, const clarke_matrix *m, size_t i, size_t j)
{
  CLARKE_ASSERT(i < m->rows && j < m->cols);
  clarke_word_get(value, clarke_entry(m, i * m->cols + j), m->limbs);
}

static clarke_status
widen(clarke_matrix *m, size_t limbs, clarke_error *err)
{
  const size_t count = m->rows * m->cols;
  uint64_t *word;

  if (limbs > CLARKE_MAX_LIMBS)
    return clarke_fail(err, CLARKE_ENOMEM, "a number of %zu words; at most %d are computed with",
                       limbs, CLARKE_MAX_LIMBS);
  word = count > SIZE_MAX / 16 / limbs ? NULL : malloc((count * limbs + 1) * sizeof *word);
  if (word == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for a %zu x %zu matrix of %zu-word numbers",
                       m->rows, m->cols, limbs);
  for (size_t k = 0; k < count; k++)
    clarke_word_shift(word + k * limbs, limbs, clarke_entry(m, k), m->limbs, 0);
  free(m->word);
  m->word = word;
  m->limbs = limbs;
  return CLARKE_OK;
}

clarke_status
clarke_matrix_store(clarke_matrix *m, size_t i, size_t j, const mpz_t value, clarke_error *err)
{
  const size_t limbs = clarke_limbs_for(mpz_sgn(value) == 0 ? 0 : mpz_sizeinbase(value, 2));
  clarke_status status;

  CLARKE_ASSERT(i < m->rows && j < m->cols);
  if (limbs > m->limbs) {
    status = widen(m, limbs, err);
    if (status != CLARKE_OK)
      return status;
  }
  clarke_word_set(clarke_entry(m, i * m->cols + j), m->limbs, value);
  return CLARKE_OK;
}

void
clarke_matrix_get(mpq_t value, const clarke_matrix *m, size_t i, size_t j)
{
  clarke_matrix_load(mpq_numref(value), m, i, j);
  mpz_set(mpq_denref(value), m->den);
  mpq_canonicalize(value);
  if (m->exp >= 0)
    mpq_mul_2exp(value, value, (mp_bitcnt_t)m->exp);
  else
    mpq_div_2exp(value, value, (mp_bitcnt_t)-m->exp);
}

double
clarke_matrix_radius(const clarke_matrix *m, size_t i, size_t j)
{
  CLARKE_ASSERT(i < m->rows && j < m->cols);
  return m->radius == NULL ? 0 : m->radius[i * m->cols + j];
}

bool
clarke_matrix_entry_is_zero(const clarke_matrix *m, size_t i, size_t j)
{
  const uint64_t *word = m->word + (i * m->cols + j) * m->limbs;

  CLARKE_ASSERT(i < m->rows && j < m->cols);
  for (size_t l = 0; l < m->limbs; l++)
    if (word[l] != 0)
      return false;
  return clarke_matrix_radius(m, i, j) == 0;
}

bool
clarke_matrix_is_zero(const clarke_matrix *m)
{
  for (size_t i = 0; i < m->rows; i++)
    for (size_t j = 0; j < m->cols; j++)
      if (!clarke_matrix_entry_is_zero(m, i, j))
        return false;
  return true;
}

/* num 2^exp / den rounded to nearest, ties to even; num > 0, den > 0. */
static double
nearest_double(const mpz_t num, long exp, const mpz_t den)
{
  const long shift = 66 - (long)mpz_sizeinbase(num, 2) + (long)mpz_sizeinbase(den, 2);
  double result = 0;
  long bits, kept;
  mpz_t q, r;

  mpz_inits(q, r, NULL);
  if (shift >= 0)
    mpz_mul_2exp(q, num, (mp_bitcnt_t)shift);
  else
    mpz_mul_2exp(r, den, (mp_bitcnt_t)-shift);
  mpz_tdiv_qr(q, r, shift >= 0 ? q : num, shift >= 0 ? den : r);
  if (mpz_sgn(r) != 0) /* sticky: q has at least 65 bits, so its last is far below the rounding */
    mpz_setbit(q, 0);
  bits = (long)mpz_sizeinbase(q, 2);
  exp -= shift;
  kept = bits + exp + 1074 < 53 ? bits + exp + 1074 : 53;
  if (kept >= 0) {
    const mp_bitcnt_t drop = (mp_bitcnt_t)(bits - kept);
    const bool half = mpz_tstbit(q, drop - 1) != 0;
    const bool sticky = mpz_scan1(q, 0) < drop - 1;

    mpz_tdiv_q_2exp(q, q, drop);
    if (half && (sticky || mpz_odd_p(q)))
      mpz_add_ui(q, q, 1);
    exp += (long)drop;
    result = ldexp(mpz_get_d(q), exp > 5000 ? 5000 : (int)exp);
  }
  mpz_clears(q, r, NULL);
  return result;
}

/* |word| as its highest 64 bits, of which the first is 1, and whether anything is below them, times 2^*shift. Not 0. */
static inline uint64_t
top_of_words(const uint64_t *word, size_t limbs, bool *below, long *shift)
{
  const bool negative = word[limbs - 1] >> 63 != 0;
  uint64_t magnitude[FEW_LIMBS], carry = negative, high, low = 0;
  size_t top = limbs - 1;
  int lead;

  for (size_t k = 0; k < limbs; k++) {
    magnitude[k] = (negative ? ~word[k] : word[k]) + carry;
    carry = carry && magnitude[k] == 0;
  }
  while (top > 0 && magnitude[top] == 0)
    top--;
  lead = __builtin_clzll(magnitude[top]);
  high = magnitude[top] << lead;
  if (top > 0 && lead > 0)
    high |= magnitude[top - 1] >> (64 - lead);
  if (top > 0)
    low = magnitude[top - 1] << lead;
  for (size_t k = 0; k + 1 < top; k++)
    low |= magnitude[k];
  *below = low != 0;
  *shift = 64 * (long)top - lead;
  return high;
}

/* What top_of_words found over den, which is a word and not 0: *result * 2^*shift, rounded to nearest, ties to even. It has more bits
 * of the quotient than a double has, and whether anything is below them. false: what is below the top may change it. */
static inline bool
quotient_of_top(double *result, uint64_t top, bool below, uint64_t den, long *shift)
{
  const int lead = __builtin_clzll(den);
  const clarke_uint128 n = (clarke_uint128)top << 63;
  const uint64_t d = den << lead, q = (uint64_t)(n / d), r = (uint64_t)(n - (clarke_uint128)q * d);

  *shift += lead - 63;
  *result = (double)(q | (r != 0 || below));
  return !below || (q < UINT64_MAX && (double)((q + 1) | 1) == *result); /* the quotient's integer is q or q + 1 */
}

/* x * 2^e. Where both the power and the product are normal, the product rounds as ldexp does, and there it is exact. */
static inline double
scaled(double x, long e)
{
  const uint64_t bits = (uint64_t)(e + 1023) << 52;
  double power;

  if (e < -900 || e > 900)
    return ldexp(x, (int)e);
  memcpy(&power, &bits, sizeof power);
  return x * power;
}

double
clarke_matrix_get_double(const clarke_matrix *m, size_t i, size_t j)
{
  const uint64_t *word = clarke_entry(m, i * m->cols + j);
  const double sign = clarke_word_negative(word, m->limbs) ? -1 : 1;
  double result;
  mpz_t value;
  long shift;

  if (clarke_word_zero(word, m->limbs))
    return 0;
  if (m->limbs == 1 && m->exp > -1000 && m->exp < 900 && mpz_cmp_ui(m->den, 1) == 0)
    return scaled((double)(int64_t)word[0], m->exp);
  if (m->limbs <= FEW_LIMBS && m->exp > -700 && m->exp < 300 && mpz_size(m->den) == 1) {
    bool below;
    const uint64_t top = top_of_words(word, m->limbs, &below, &shift), den = mpz_getlimbn(m->den, 0);

    if (den == 1)
      return scaled(sign * (double)(top | below), m->exp + shift);
    if (quotient_of_top(&result, top, below, den, &shift))
      return scaled(sign * result, m->exp + shift);
  }
  mpz_init(value);
  clarke_word_get(value, word, m->limbs);
  mpz_abs(value, value);
  result = sign * nearest_double(value, m->exp, m->den);
  mpz_clear(value);
  return result;
}

/* --- residues -------------------------------------------------------------------------------- */

/* r mod p by a reciprocal (Barrett): inverse = floor(2^64 / p), so the quotient is at most 2 short. */
static inline uint64_t
reduce(uint64_t r, uint64_t p, uint64_t inverse)
{
  r -= (uint64_t)((clarke_uint128)r * inverse >> 64) * p;
  while (r >= p)
    r -= p;
  return r;
}

void
clarke_matrix_residues(uint64_t *residue, const clarke_matrix *m, uint64_t p)
{
  const size_t count = m->rows * m->cols, limbs = m->limbs;
  const uint64_t inverse = (uint64_t)(((clarke_uint128)1 << 64) / p);
  const uint64_t base = reduce(UINT64_MAX, p, inverse) + 1; /* 2^64 mod p, or p */
  uint64_t wrap = 1; /* 2^(64 limbs) mod p */

  for (size_t k = 0; k < limbs; k++)
    wrap = reduce(wrap * base, p, inverse);
  for (size_t e = 0; e < count; e++) {
    const uint64_t *word = m->word + e * limbs;
    uint64_t r = 0;

    for (size_t k = limbs; k-- > 0;)
      r = reduce(r * base + reduce(word[k], p, inverse), p, inverse);
    if (clarke_word_negative(word, limbs))
      r = r >= wrap ? r - wrap : r + p - wrap;
    residue[e] = r;
  }
}
