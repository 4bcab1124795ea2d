/* Numbers in fixed point: sums, multiples, and digits. */
#include "network/derive/gradient/fixed.h"

#include <float.h>
#include <math.h>
#include <string.h>

static bool
is_negative(const mp_limb_t *entry, size_t limbs)
{
  return entry[limbs - 1] >> (CLARKE_FIXED_LIMB - 1) != 0;
}

/* Numbers of one sign have a sum of that sign, or no room for it. Without a branch: signs cannot be predicted. */
static bool
has_room(bool before, bool minus, bool after)
{
  return (before != minus) | (after == before);
}

/* a + b + *carry, which becomes that of the sum. */
static inline mp_limb_t
add_limbs(mp_limb_t a, mp_limb_t b, mp_limb_t *carry)
{
  const mp_limb_t sum = a + b, all = sum + *carry;

  *carry = (mp_limb_t)(sum < a) | (mp_limb_t)(all < sum);
  return all;
}

/* v >> by, rounded down. */
static clarke_wide
shifted_down(clarke_wide v, long by)
{
  return by >= 2 * CLARKE_FIXED_LIMB ? (v < 0 ? -1 : 0) : v >> by;
}

/* v 2^bits as limbs, in two's complement; bits < 64. */
#define WORDS ((size_t)3)
static void
set_words(mp_limb_t *word, clarke_wide v, int bits)
{
  const int64_t high = (int64_t)(v >> CLARKE_FIXED_LIMB);
  const mp_limb_t low = (mp_limb_t)v;

  word[0] = low << bits;
  word[1] = bits > 0 ? (mp_limb_t)high << bits | low >> (CLARKE_FIXED_LIMB - bits) : (mp_limb_t)high;
  word[2] = (mp_limb_t)(bits > 0 ? high >> (CLARKE_FIXED_LIMB - bits) : high >> (CLARKE_FIXED_LIMB - 1));
}

bool
clarke_fixed_add_wide(mp_limb_t *entry, size_t limbs, clarke_wide v, long shift)
{
  const clarke_wide whole = shift < 0 ? shifted_down(v, -shift) : v;
  const size_t at = shift < 0 ? 0 : (size_t)shift / CLARKE_FIXED_LIMB;
  const bool before = is_negative(entry, limbs), minus = whole < 0;
  const mp_limb_t sign = minus ? ~(mp_limb_t)0 : 0;
  mp_limb_t word[WORDS], carry = 0;

  if (whole == 0)
    return true;
  if (at >= limbs)
    return false;
  set_words(word, whole, shift < 0 ? 0 : (int)(shift % CLARKE_FIXED_LIMB));
  for (size_t k = limbs - at; k < WORDS; k++)
    if (word[k] != sign || (word[k - 1] >> (CLARKE_FIXED_LIMB - 1) != 0) != minus)
      return false;
  for (size_t k = 0; k < WORDS && at + k < limbs; k++)
    entry[at + k] = add_limbs(entry[at + k], word[k], &carry);
  for (size_t k = at + WORDS; k < limbs && carry != (mp_limb_t)minus; k++) /* else limbs of signs change nothing */
    entry[k] = add_limbs(entry[k], sign, &carry);
  return has_room(before, minus, is_negative(entry, limbs));
}

bool
clarke_fixed_add_integer(mp_limb_t *entry, size_t limbs, int64_t v, long shift)
{
  return clarke_fixed_add_wide(entry, limbs, v, shift);
}

bool
clarke_fixed_add_double(const clarke_fixed *v, size_t e, double x)
{
  int exponent;
  const double m = frexp(x, &exponent);

  if (!isfinite(x))
    return false;
  return clarke_fixed_add_integer(clarke_fixed_at(v, e), v->limbs, (int64_t)ldexp(m, 53), (long)exponent - 53 - v->unit);
}

bool
clarke_fixed_add(mp_limb_t *entry, const mp_limb_t *term, size_t limbs, bool subtract)
{
  const bool before = is_negative(entry, limbs), minus = is_negative(term, limbs) != subtract;
  const mp_limb_t turned = subtract ? ~(mp_limb_t)0 : 0;
  mp_limb_t carry = subtract;

  for (size_t k = 0; k < limbs; k++)
    entry[k] = add_limbs(entry[k], term[k] ^ turned, &carry);
  return has_room(before, minus, is_negative(entry, limbs));
}

bool
clarke_fixed_size(mp_limb_t *size, const mp_limb_t *entry, size_t limbs)
{
  const bool negative = is_negative(entry, limbs);
  const mp_limb_t turned = negative ? ~(mp_limb_t)0 : 0;
  mp_limb_t carry = negative;

  for (size_t k = 0; k < limbs; k++)
    size[k] = add_limbs(entry[k] ^ turned, 0, &carry);
  return negative;
}

/* product >> shift into `size`; false: it has no room. */
static bool
shift_product(mp_limb_t *size, const mp_limb_t *product, size_t limbs, long shift)
{
  const size_t words = (size_t)shift / CLARKE_FIXED_LIMB, left = words < 2 * limbs ? 2 * limbs - words : 0;
  mp_limb_t moved[2 * CLARKE_FIXED_LIMBS] = {0};

  if (left > 0 && shift % CLARKE_FIXED_LIMB > 0)
    mpn_rshift(moved, product + words, (mp_size_t)left, (unsigned)(shift % CLARKE_FIXED_LIMB));
  else
    memcpy(moved, product + words, left * sizeof *moved);
  for (size_t k = limbs; k < left; k++)
    if (moved[k] != 0)
      return false;
  memcpy(size, moved, limbs * sizeof *size);
  return !is_negative(size, limbs);
}

bool
clarke_fixed_add_multiple(mp_limb_t *entry, const mp_limb_t *term, size_t limbs, const clarke_fixed_factor *c, long shift,
                          bool subtract)
{
  mp_limb_t size[CLARKE_FIXED_LIMBS], product[2 * CLARKE_FIXED_LIMBS];
  const bool negative = clarke_fixed_size(size, term, limbs) != c->negative;

  if (mpn_zero_p(size, (mp_size_t)limbs) || mpn_zero_p(c->limb, (mp_size_t)limbs))
    return true;
  if (shift < 0)
    return false;
  mpn_mul_n(product, size, c->limb, (mp_size_t)limbs);
  return shift_product(size, product, limbs, shift) && clarke_fixed_add(entry, size, limbs, negative != subtract);
}

void
clarke_fixed_divide(mp_limb_t *entry, size_t limbs, size_t m)
{
  mp_limb_t size[CLARKE_FIXED_LIMBS];
  const bool negative = clarke_fixed_size(size, entry, limbs);

  mpn_divrem_1(size, 0, size, (mp_size_t)limbs, (mp_limb_t)m);
  if (negative)
    mpn_neg(entry, size, (mp_size_t)limbs);
  else
    memcpy(entry, size, limbs * sizeof *size);
}

/* x 2^at */
static double
scaled(double x, int at)
{
  double power;
  uint64_t bits;

  if (at < DBL_MIN_EXP - 1 || at >= DBL_MAX_EXP)
    return ldexp(x, at);
  bits = (uint64_t)(at + DBL_MAX_EXP - 1) << (DBL_MANT_DIG - 1);
  memcpy(&power, &bits, sizeof power);
  return x * power;
}

/* The highest 106 of the highest 128 bits from the first that is set, as two doubles: what is left is below 2^-105 of it. */
clarke_pair
clarke_fixed_pair(const mp_limb_t *entry, size_t limbs, int unit)
{
  const int of_low = 2 * DBL_MANT_DIG - CLARKE_FIXED_LIMB, left = 2 * CLARKE_FIXED_LIMB - 2 * DBL_MANT_DIG;
  mp_limb_t size[CLARKE_FIXED_LIMBS], top, next, third;
  const bool negative = clarke_fixed_size(size, entry, limbs);
  size_t from = limbs;
  clarke_pair sum;
  int zeros, at;

  while (from > 0 && size[from - 1] == 0)
    from--;
  if (from == 0)
    return (clarke_pair){0, 0};
  top = size[from - 1];
  next = from > 1 ? size[from - 2] : 0;
  third = from > 2 ? size[from - 3] : 0;
  zeros = __builtin_clzll(top);
  if (zeros > 0) {
    top = top << zeros | next >> (CLARKE_FIXED_LIMB - zeros);
    next = next << zeros | third >> (CLARKE_FIXED_LIMB - zeros);
  }
  sum = clarke_two_sum_fast((double)(top >> (CLARKE_FIXED_LIMB - DBL_MANT_DIG)) * 0x1p53,
                            (double)((top & (((mp_limb_t)1 << (CLARKE_FIXED_LIMB - DBL_MANT_DIG)) - 1)) << of_low | next >> left));
  at = CLARKE_FIXED_LIMB * ((int)from - 2) - zeros + left + unit;
  sum = (clarke_pair){scaled(sum.high, at), scaled(sum.low, at)};
  return negative ? (clarke_pair){-sum.high, -sum.low} : sum;
}

void
clarke_fixed_get(mpq_t q, const clarke_fixed *v, size_t e)
{
  mp_limb_t size[CLARKE_FIXED_LIMBS];
  const bool negative = clarke_fixed_size(size, clarke_fixed_at(v, e), v->limbs);

  mpz_import(mpq_numref(q), v->limbs, -1, sizeof *size, 0, 0, size);
  mpz_set_ui(mpq_denref(q), 1);
  if (v->unit >= 0)
    mpq_mul_2exp(q, q, (mp_bitcnt_t)v->unit);
  else
    mpq_div_2exp(q, q, (mp_bitcnt_t)-v->unit);
  if (negative)
    mpq_neg(q, q);
}

bool
clarke_fixed_set(const clarke_fixed *v, size_t e, const mpq_t q)
{
  mp_limb_t *entry = clarke_fixed_at(v, e);
  bool fits;
  mpz_t whole, den;

  mpz_init_set(whole, mpq_numref(q));
  mpz_init_set(den, mpq_denref(q));
  mpz_mul_2exp(v->unit < 0 ? whole : den, v->unit < 0 ? whole : den, (mp_bitcnt_t)(v->unit < 0 ? -v->unit : v->unit));
  mpz_tdiv_q(whole, whole, den);
  fits = mpz_sizeinbase(whole, 2) < v->limbs * CLARKE_FIXED_LIMB;
  for (size_t k = 0; k < v->limbs && fits; k++)
    entry[k] = mpz_getlimbn(whole, (mp_size_t)k);
  if (fits && mpz_sgn(whole) < 0)
    mpn_neg(entry, entry, (mp_size_t)v->limbs);
  mpz_clear(whole);
  mpz_clear(den);
  return fits;
}

/* --- factors --------------------------------------------------------------------------------- */

void
clarke_fixed_factor_of(clarke_fixed_factor *c, const mpfr_t v, size_t limbs)
{
  mpfr_t near;
  mpz_t z;

  *c = (clarke_fixed_factor){.negative = mpfr_signbit(v) != 0};
  if (mpfr_zero_p(v))
    return;
  mpz_init(z);
  mpfr_init2(near, (mpfr_prec_t)limbs * CLARKE_FIXED_LIMB);
  mpfr_set(near, v, MPFR_RNDN);
  c->unit = (int)mpfr_get_z_2exp(z, near);
  for (size_t k = 0; k < limbs; k++)
    c->limb[k] = mpz_getlimbn(z, (mp_size_t)k);
  mpfr_clear(near);
  mpz_clear(z);
}

void
clarke_fixed_factor_of_double(clarke_fixed_factor *c, double v, size_t limbs)
{
  mpfr_t x;

  mpfr_init2(x, 53);
  mpfr_set_d(x, v, MPFR_RNDN);
  clarke_fixed_factor_of(c, x, limbs);
  mpfr_clear(x);
}

void
clarke_fixed_factor_of_entry(clarke_fixed_factor *c, const mp_limb_t *entry, size_t limbs, int unit)
{
  *c = (clarke_fixed_factor){.unit = unit};
  c->negative = clarke_fixed_size(c->limb, entry, limbs);
}

/* --- digits ---------------------------------------------------------------------------------- */

/* The 64 bits from the `at`-th on; beyond the limbs there are signs. */
static uint64_t
bits_from(const mp_limb_t *entry, size_t limbs, size_t at)
{
  const mp_limb_t sign = is_negative(entry, limbs) ? ~(mp_limb_t)0 : 0;
  const size_t k = at / CLARKE_FIXED_LIMB, bits = at % CLARKE_FIXED_LIMB;
  const mp_limb_t low = k < limbs ? entry[k] : sign, high = k + 1 < limbs ? entry[k + 1] : sign;

  return bits > 0 ? low >> bits | high << (CLARKE_FIXED_LIMB - bits) : low;
}

/* The lowest `low` bits less half of 2^low: what is left of an entry to which that half was added. */
static double
rest_below(const clarke_fixed *v, const mp_limb_t *raised, size_t low)
{
  mp_limb_t rest[CLARKE_FIXED_LIMBS + 1] = {0}, half[CLARKE_FIXED_LIMBS + 1] = {0};
  const size_t k = low / CLARKE_FIXED_LIMB, bits = low % CLARKE_FIXED_LIMB;

  memcpy(rest, raised, k * sizeof *rest);
  if (bits > 0)
    rest[k] = raised[k] & (((mp_limb_t)1 << bits) - 1);
  half[(low - 1) / CLARKE_FIXED_LIMB] = (mp_limb_t)1 << ((low - 1) % CLARKE_FIXED_LIMB);
  mpn_sub_n(rest, rest, half, (mp_size_t)v->limbs + 1);
  return clarke_fixed_pair(rest, v->limbs, v->unit).high;
}

double
clarke_fixed_cut(double *digit, size_t stride, const clarke_fixed *v, size_t e, size_t slices, int bits, int at)
{
  const size_t low = (size_t)(at - v->unit), limbs = v->limbs;
  mp_limb_t raised[CLARKE_FIXED_LIMBS];
  int64_t carry = 0;

  memcpy(raised, clarke_fixed_at(v, e), limbs * sizeof *raised);
  if (low > 0)
    mpn_add_1(raised + (low - 1) / CLARKE_FIXED_LIMB, raised + (low - 1) / CLARKE_FIXED_LIMB,
              (mp_size_t)(limbs - (low - 1) / CLARKE_FIXED_LIMB), (mp_limb_t)1 << ((low - 1) % CLARKE_FIXED_LIMB));
  for (size_t s = 0; s < slices; s++) {
    const uint64_t here = bits_from(raised, limbs, low + s * (size_t)bits);
    const bool last = s + 1 == slices;
    int64_t d = last ? (int64_t)here + carry : (int64_t)(here & (((uint64_t)1 << bits) - 1)) + carry;

    carry = !last && d >= (int64_t)1 << (bits - 1);
    d -= carry << bits;
    digit[s * stride] = (double)d;
  }
  return low > 0 ? rest_below(v, raised, low) : 0;
}
