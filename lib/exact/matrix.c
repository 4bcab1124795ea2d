/* Matrices of integers under one scale (matrix.h): their storage, entries and comparisons. */
#include "exact/matrix.h"

#include "exact/matrix_words.h"
#include "exact/upward.h"
#include "base/verify.h"

#include <stdlib.h>
#include <string.h>

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

double
clarke_matrix_get_double(const clarke_matrix *m, size_t i, size_t j)
{
  const uint64_t *word = clarke_entry(m, i * m->cols + j);
  double result;
  mpz_t value;

  if (clarke_word_zero(word, m->limbs))
    return 0;
  if (m->limbs == 1 && m->exp > -1000 && m->exp < 900 && mpz_cmp_ui(m->den, 1) == 0)
    return ldexp((double)(int64_t)word[0], (int)m->exp);
  mpz_init(value);
  clarke_word_get(value, word, m->limbs);
  if (mpz_sgn(value) < 0) {
    mpz_neg(value, value);
    result = -nearest_double(value, m->exp, m->den);
  } else {
    result = nearest_double(value, m->exp, m->den);
  }
  mpz_clear(value);
  return result;
}

/* --- sizes ----------------------------------------------------------------------------------- */

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

/* ~w = |w| - 1 for a negative w, so when all ~w and all w >= 0 have at most `bits` bits (and one has
 * them all), only -2^bits needs one more. */
size_t
clarke_matrix_bits(const clarke_matrix *m)
{
  const size_t words = m->rows * m->cols * m->limbs, limbs = m->limbs;
  uint64_t any = 0;
  size_t bits;

  for (size_t k = limbs; k-- > 0;) {
    for (size_t e = 0; e < words; e += limbs)
      any |= m->word[e + k] ^ -(m->word[e + limbs - 1] >> 63);
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

clarke_status
clarke_matrix_round(clarke_matrix *m, size_t bits, clarke_error *err)
{
  const size_t count = m->rows * m->cols, now = m->radius != NULL ? clarke_matrix_bits(m) : 0;
  size_t drop, limbs;
  clarke_scale_bound unit;
  uint64_t *word;

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

clarke_scale_bound
clarke_matrix_scale_bound(const clarke_matrix *m)
{
  clarke_scale_bound bound = { 1, m->exp };

  if (mpz_cmp_ui(m->den, 1) != 0) {
    signed long e;
    /* truncated: low * 2^e <= den, low in [1/2, 1) */
    const double low = mpz_get_d_2exp(&e, m->den);

    bound.mant = 1 / low * (1 + 0x1p-52);
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
    x = (x * 0x1p64 + (double)(word[top - 1] ^ fill) + 1) * (1 + 0x1p-50);
    bound.exp += 64 * (long)(top - 1);
  } else if (x >= 0x1p53) {
    x = (x + 1) * (1 + 0x1p-51);
  } else {
    x += fill & 1;
  }
  return clarke_up_ldexp(bound.mant == 1 ? x : clarke_up_mul(x, bound.mant), bound.exp);
}

double
clarke_up_rational(const mpq_t q)
{
  signed long top, bottom;
  double n, d;

  if (mpq_sgn(q) == 0)
    return 0;
  /* both truncated toward zero, exact for 53 bits or fewer */
  n = fabs(mpz_get_d_2exp(&top, mpq_numref(q)));
  d = mpz_get_d_2exp(&bottom, mpq_denref(q));
  if (mpz_sizeinbase(mpq_numref(q), 2) > 53)
    n *= 1 + 0x1p-51;
  n /= d;
  if (mpz_popcount(mpq_denref(q)) != 1)
    n *= 1 + 0x1p-51;
  return clarke_up_ldexp(n, top - bottom);
}

/* --- comparisons ----------------------------------------------------------------------------- */

/* A number c among the integers of a matrix: word 2^exp / den - c has the sign of word - threshold,
 * where the threshold is floor(c den / 2^exp), plus 1/2 when that was not an integer. */
typedef struct {
  mpz_t floor;
  bool integral;
} threshold;

static void
threshold_init(threshold *t, const clarke_matrix *m, const mpq_t c)
{
  mpz_t num, den;

  mpz_init(t->floor);
  mpz_inits(num, den, NULL);
  mpz_mul(num, mpq_numref(c), m->den);
  mpz_set(den, mpq_denref(c));
  if (m->exp >= 0)
    mpz_mul_2exp(den, den, (mp_bitcnt_t)m->exp);
  else
    mpz_mul_2exp(num, num, (mp_bitcnt_t)-m->exp);
  mpz_fdiv_qr(t->floor, num, num, den);
  t->integral = mpz_sgn(num) == 0;
  mpz_clears(num, den, NULL);
}

/* The sign of the entry's midpoint - c; value is scratch. */
static int
threshold_sign(const threshold *t, const uint64_t *word, size_t limbs, mpz_t value)
{
  int sign;

  if (limbs == 1 && mpz_fits_slong_p(t->floor)) {
    const int64_t w = (int64_t)word[0], f = mpz_get_si(t->floor);

    sign = (w > f) - (w < f);
  } else if (mpz_sgn(t->floor) == 0) {
    sign = clarke_word_negative(word, limbs) ? -1 : !clarke_word_zero(word, limbs);
  } else {
    clarke_word_get(value, word, limbs);
    sign = mpz_cmp(value, t->floor);
  }
  if (sign == 0)
    return t->integral ? 0 : -1;
  return sign < 0 ? -1 : 1;
}

/* The sign of entry - c, r being an upper bound of what it is off by; 2 when that leaves it open. */
static int
beyond_radius(const clarke_matrix *m, size_t index, double r, const mpq_t c)
{
  mpq_t gap, radius;
  int sign, beyond;

  if (!isfinite(r))
    return 2;
  mpq_inits(gap, radius, NULL);
  clarke_matrix_get(gap, m, index / m->cols, index % m->cols);
  mpq_sub(gap, gap, c);
  sign = mpq_sgn(gap);
  mpq_abs(gap, gap);
  mpq_set_d(radius, r);
  beyond = mpq_cmp(gap, radius);
  mpq_clears(gap, radius, NULL);
  return beyond > 0 || r == 0 ? sign : 2;
}

/* The sign of entry - c, given that of its midpoint. */
static int
within_radius(const clarke_matrix *m, size_t index, const mpq_t c, int sign)
{
  return m->radius[index] == 0 ? sign : beyond_radius(m, index, m->radius[index], c);
}

int
clarke_matrix_compare(const clarke_matrix *m, size_t i, size_t j, const mpq_t c)
{
  const size_t index = i * m->cols + j;
  const uint64_t *word = clarke_entry(m, index);
  int sign;

  if (mpq_sgn(c) == 0) {
    sign = clarke_word_negative(word, m->limbs) ? -1 : !clarke_word_zero(word, m->limbs);
  } else {
    threshold t;
    mpz_t value;

    mpz_init(value);
    threshold_init(&t, m, c);
    sign = threshold_sign(&t, word, m->limbs, value);
    mpz_clear(t.floor);
    mpz_clear(value);
  }
  return m->radius == NULL ? sign : within_radius(m, index, c, sign);
}

int
clarke_matrix_compare_entries(const clarke_matrix *m, size_t i, size_t k, size_t j)
{
  const size_t one = i * m->cols + j, other = k * m->cols + j;
  const uint64_t *a = clarke_entry(m, one), *b = clarke_entry(m, other);
  size_t l = m->limbs - 1;
  int sign = 0;
  mpq_t c;

  if (m->radius != NULL && (m->radius[one] != 0 || m->radius[other] != 0)) {
    mpq_init(c);
    clarke_matrix_get(c, m, k, j);
    sign = beyond_radius(m, one, clarke_up_add(m->radius[one], m->radius[other]), c);
    mpq_clear(c);
    return sign;
  }
  if ((int64_t)a[l] != (int64_t)b[l])
    return (int64_t)a[l] < (int64_t)b[l] ? -1 : 1;
  while (l-- > 0 && sign == 0)
    sign = (a[l] > b[l]) - (a[l] < b[l]);
  return sign;
}

void
clarke_matrix_signs(signed char *sign, const clarke_matrix *m, const mpq_t c)
{
  const size_t count = m->rows * m->cols;
  threshold t;
  mpz_t value;

  mpz_init(value);
  threshold_init(&t, m, c);
  for (size_t k = 0; k < count; k++) {
    const int s = threshold_sign(&t, clarke_entry(m, k), m->limbs, value);

    sign[k] = (signed char)(m->radius == NULL ? s : within_radius(m, k, c, s));
  }
  mpz_clear(t.floor);
  mpz_clear(value);
}

/* Are x 2^e and y 2^f equal? Both are spoiled. */
static bool
equal_dyadics(mpz_t x, long e, mpz_t y, long f)
{
  mp_bitcnt_t zeros;

  if (mpz_sgn(x) == 0 || mpz_sgn(y) == 0)
    return mpz_sgn(x) == mpz_sgn(y);
  zeros = mpz_scan1(x, 0);
  mpz_tdiv_q_2exp(x, x, zeros);
  e += (long)zeros;
  zeros = mpz_scan1(y, 0);
  mpz_tdiv_q_2exp(y, y, zeros);
  f += (long)zeros;
  return e == f && mpz_cmp(x, y) == 0;
}

bool
clarke_matrix_equal(const clarke_matrix *a, const clarke_matrix *b)
{
  const size_t count = a->rows * a->cols;
  const bool same_den = mpz_cmp(a->den, b->den) == 0;
  bool equal = true;
  mpz_t x, y;

  if (!clarke_same_shape(a, b) || a->radius != NULL || b->radius != NULL)
    return false;
  if (same_den && a->exp == b->exp && a->limbs == b->limbs)
    return count == 0 || memcmp(a->word, b->word, count * a->limbs * sizeof *a->word) == 0;
  mpz_inits(x, y, NULL);
  for (size_t k = 0; k < count && equal; k++) {
    clarke_word_get(x, clarke_entry(a, k), a->limbs);
    clarke_word_get(y, clarke_entry(b, k), b->limbs);
    if (!same_den) {
      mpz_mul(x, x, b->den);
      mpz_mul(y, y, a->den);
    }
    equal = equal_dyadics(x, a->exp, y, b->exp);
  }
  mpz_clears(x, y, NULL);
  return equal;
}

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

/* --- exact values in ------------------------------------------------------------------------- */

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
