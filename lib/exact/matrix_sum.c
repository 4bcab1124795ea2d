/* Entrywise sums, differences, products and multiples of matrices, with their scales aligned. */
#include "exact/matrix.h"

#include "exact/matrix_inside.h"
#include "exact/upward.h"
#include "exact/number.h"
#include "base/verify.h"

#include <string.h>

/* --- by a number ----------------------------------------------------------------------------- */

/* The words of a times an integer, into c of a's shape with enough words. */
static void
multiply_words(clarke_matrix *c, const clarke_matrix *a, const mpz_t factor)
{
  const size_t count = a->rows * a->cols;
  mpz_t value;

  if (a->limbs == 1 && c->limbs <= 2 && mpz_fits_slong_p(factor)) {
    const int64_t f = mpz_get_si(factor);

    for (size_t k = 0; k < count; k++) {
      const clarke_int128 w = (clarke_int128)(int64_t)a->word[k] * f;

      c->word[k * c->limbs] = (uint64_t)w;
      if (c->limbs == 2)
        c->word[2 * k + 1] = (uint64_t)(w >> 64);
    }
    return;
  }
  mpz_init(value);
  for (size_t k = 0; k < count; k++) {
    clarke_word_get(value, clarke_entry(a, k), a->limbs);
    mpz_mul(value, value, factor);
    clarke_word_set(clarke_entry(c, k), c->limbs, value);
  }
  mpz_clear(value);
}

static clarke_status
scale_radius(clarke_matrix *c, const clarke_matrix *a, const mpq_t q, clarke_error *err)
{
  const double factor = clarke_up_rational(q);
  clarke_status status;

  if (a->radius == NULL)
    return CLARKE_OK;
  status = clarke_matrix_need_radius(c, err);
  for (size_t k = 0; k < a->rows * a->cols && status == CLARKE_OK; k++)
    c->radius[k] = clarke_up_mul(a->radius[k], factor);
  return status;
}

/* c = a q with q = 2^twos num / den, num and den odd (num = 0 for q = 0). */
static clarke_status
scale_split(clarke_matrix *c, const clarke_matrix *a, mpz_t num, mpz_t den, long twos,
            clarke_error *err)
{
  const size_t bits = mpz_sgn(num) == 0 ? 0 : clarke_matrix_bits(a) + mpz_sizeinbase(num, 2);
  clarke_status status;
  mpz_t common;

  mpz_init(common);
  mpz_gcd(common, num, a->den);
  if (mpz_sgn(num) != 0)
    mpz_divexact(num, num, common);
  mpz_divexact(common, a->den, common);
  mpz_mul(den, den, common);
  mpz_clear(common);
  status = clarke_matrix_shape_bits(c, a->rows, a->cols, bits, err);
  if (status == CLARKE_OK)
    multiply_words(c, a, num);
  if (status == CLARKE_OK && mpz_sgn(num) != 0)
    status = clarke_matrix_set_scale(c, a->exp + twos, den, err);
  return status;
}

clarke_status
clarke_matrix_scale(clarke_matrix *c, const clarke_matrix *a, const mpq_t q, clarke_error *err)
{
  clarke_matrix fresh;
  clarke_status status;
  long twos = 0;
  mpz_t num, den;

  CLARKE_VERIFY_CHECK(clarke_matrix_is_valid(a) && clarke_rational_is_canonical(q));
  clarke_tally_add(0, a->rows * a->cols, 0);
  clarke_matrix_init(&fresh);
  mpz_init_set(num, mpq_numref(q));
  mpz_init_set(den, mpq_denref(q));
  if (mpz_sgn(num) != 0) {
    const mp_bitcnt_t up = mpz_scan1(num, 0), down = mpz_scan1(den, 0);

    twos = (long)up - (long)down;
    mpz_tdiv_q_2exp(num, num, up);
    mpz_tdiv_q_2exp(den, den, down);
  }
  status = scale_split(&fresh, a, num, den, twos, err);
  if (status == CLARKE_OK)
    status = scale_radius(&fresh, a, q, err);
  if (status == CLARKE_OK)
    clarke_matrix_swap(c, &fresh);
  mpz_clears(num, den, NULL);
  clarke_matrix_clear(&fresh);
  return status;
}

/* --- sums ------------------------------------------------------------------------------------ */

/* Is b of a's shape, or a column to be repeated? */
static clarke_status
check_shapes(const clarke_matrix *a, const clarke_matrix *b, clarke_error *err)
{
  if (clarke_same_shape(a, b) || (a->rows == b->rows && b->cols == 1))
    return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT,
                     "%zu x %zu and %zu x %zu matrices do not go together entry by entry", a->rows,
                     a->cols, b->rows, b->cols);
}

/* The index in b of what stands beside entry (i, j). */
static inline size_t
beside(const clarke_matrix *b, size_t i, size_t j)
{
  return b->cols == 1 ? i : i * b->cols + j;
}

/* c = a 2^a_shift +- b 2^b_shift on words, c wide enough. */
static void
add_words(clarke_matrix *c, const clarke_matrix *a, size_t a_shift, const clarke_matrix *b,
          size_t b_shift, bool minus)
{
  const size_t limbs = c->limbs;
  uint64_t x[CLARKE_MAX_LIMBS], y[CLARKE_MAX_LIMBS];

  for (size_t i = 0; i < c->rows; i++)
    for (size_t j = 0; j < c->cols; j++) {
      const uint64_t *u = clarke_entry(a, i * a->cols + j), *v = clarke_entry(b, beside(b, i, j));
      uint64_t *w = clarke_entry(c, i * c->cols + j);

      if (limbs <= 2 && a->limbs <= 2 && b->limbs <= 2) {
        const clarke_uint128 s =
            (clarke_uint128)clarke_word_int128(u, a->limbs) << (a_shift < 128 ? a_shift : 0);
        const clarke_uint128 t =
            (clarke_uint128)clarke_word_int128(v, b->limbs) << (b_shift < 128 ? b_shift : 0);
        const clarke_uint128 sum = minus ? s - t : s + t;

        w[0] = (uint64_t)sum;
        if (limbs == 2)
          w[1] = (uint64_t)(sum >> 64);
        continue;
      }
      clarke_word_shift(x, limbs, u, a->limbs, a_shift);
      clarke_word_shift(y, limbs, v, b->limbs, b_shift);
      if (minus)
        mpn_sub_n((mp_limb_t *)w, (mp_limb_t *)x, (mp_limb_t *)y, (mp_size_t)limbs);
      else
        mpn_add_n((mp_limb_t *)w, (mp_limb_t *)x, (mp_limb_t *)y, (mp_size_t)limbs);
    }
}

static clarke_status
add_radius(clarke_matrix *c, const clarke_matrix *a, const clarke_matrix *b, clarke_error *err)
{
  clarke_status status;

  if (a->radius == NULL && b->radius == NULL)
    return CLARKE_OK;
  status = clarke_matrix_need_radius(c, err);
  for (size_t i = 0; i < c->rows && status == CLARKE_OK; i++)
    for (size_t j = 0; j < c->cols; j++) {
      const double r = a->radius == NULL ? 0 : a->radius[i * a->cols + j];
      const double s = b->radius == NULL ? 0 : b->radius[beside(b, i, j)];

      c->radius[i * c->cols + j] = clarke_up_add(r, s);
    }
  return status;
}

/* c = a +- b over one denominator; c is fresh. */
static clarke_status
add_same_den(clarke_matrix *c, const clarke_matrix *a, const clarke_matrix *b, bool minus,
             clarke_error *err)
{
  const size_t a_bits = clarke_matrix_bits(a), b_bits = clarke_matrix_bits(b);
  /* the scale of a matrix of zeros does not matter */
  const long a_exp = a_bits == 0 ? b->exp : a->exp, b_exp = b_bits == 0 ? a_exp : b->exp;
  const long exp = a_exp < b_exp ? a_exp : b_exp;
  const size_t a_shift = (size_t)(a_exp - exp), b_shift = (size_t)(b_exp - exp);
  const size_t a_high = a_bits == 0 ? 0 : a_bits + a_shift;
  const size_t b_high = b_bits == 0 ? 0 : b_bits + b_shift;
  clarke_status status;

  status = clarke_matrix_shape_bits(c, a->rows, a->cols, (a_high > b_high ? a_high : b_high) + 1,
                                    err);
  if (status != CLARKE_OK)
    return status;
  add_words(c, a, a_shift, b, b_shift, minus);
  status = clarke_matrix_set_scale(c, exp, a->den, err);
  return status == CLARKE_OK ? add_radius(c, a, b, err) : status;
}

/* c = a with its denominator made the multiple den. Its radius stays; c is fresh. */
static clarke_status
over_den(clarke_matrix *c, const clarke_matrix *a, const mpz_t den, clarke_error *err)
{
  clarke_status status;
  mpz_t factor;

  mpz_init(factor);
  mpz_divexact(factor, den, a->den);
  status = clarke_matrix_shape_bits(c, a->rows, a->cols,
                                    clarke_matrix_bits(a) + mpz_sizeinbase(factor, 2), err);
  if (status == CLARKE_OK) {
    multiply_words(c, a, factor);
    status = clarke_matrix_set_scale(c, a->exp, den, err);
  }
  if (status == CLARKE_OK && a->radius != NULL) {
    status = clarke_matrix_need_radius(c, err);
    if (status == CLARKE_OK)
      memcpy(c->radius, a->radius, a->rows * a->cols * sizeof *a->radius);
  }
  mpz_clear(factor);
  return status;
}

/* c = a +- b; c is fresh. */
static clarke_status
add_any(clarke_matrix *c, const clarke_matrix *a, const clarke_matrix *b, bool minus,
        clarke_error *err)
{
  clarke_matrix x, y;
  clarke_status status;
  mpz_t den;

  if (mpz_cmp(a->den, b->den) == 0)
    return add_same_den(c, a, b, minus, err);
  clarke_matrix_init(&x);
  clarke_matrix_init(&y);
  mpz_init(den);
  mpz_lcm(den, a->den, b->den);
  status = over_den(&x, a, den, err);
  if (status == CLARKE_OK)
    status = over_den(&y, b, den, err);
  if (status == CLARKE_OK)
    status = add_same_den(c, &x, &y, minus, err);
  mpz_clear(den);
  clarke_matrix_clear(&x);
  clarke_matrix_clear(&y);
  return status;
}

static clarke_status
add_or_sub(clarke_matrix *c, const clarke_matrix *a, const clarke_matrix *b, bool minus,
           clarke_error *err)
{
  clarke_matrix fresh;
  clarke_status status = check_shapes(a, b, err);

  CLARKE_VERIFY_CHECK(clarke_matrix_is_valid(a) && clarke_matrix_is_valid(b));
  if (status != CLARKE_OK)
    return status;
  clarke_tally_add(a->rows * a->cols, 0, 0);
  clarke_matrix_init(&fresh);
  status = add_any(&fresh, a, b, minus, err);
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_matrix_is_valid(&fresh));
  if (status == CLARKE_OK)
    clarke_matrix_swap(c, &fresh);
  clarke_matrix_clear(&fresh);
  return status;
}

clarke_status
clarke_matrix_add(clarke_matrix *c, const clarke_matrix *a, const clarke_matrix *b,
                  clarke_error *err)
{
  return add_or_sub(c, a, b, false, err);
}

clarke_status
clarke_matrix_sub(clarke_matrix *c, const clarke_matrix *a, const clarke_matrix *b,
                  clarke_error *err)
{
  return add_or_sub(c, a, b, true, err);
}

/* --- entrywise products ---------------------------------------------------------------------- */

static bool
is_zero(const uint64_t *word, size_t limbs)
{
  for (size_t l = 0; l < limbs; l++)
    if (word[l] != 0)
      return false;
  return true;
}

#define SHORT 4

/* |word|; was it negative? */
static bool
set_size(mp_limb_t *to, const uint64_t *word, size_t limbs)
{
  const bool negative = clarke_word_negative(word, limbs);

  if (negative)
    mpn_neg(to, (const mp_limb_t *)word, (mp_size_t)limbs);
  else
    memcpy(to, word, limbs * sizeof *to);
  return negative;
}

/* w = u v, which fits; u and v of at most SHORT words. */
static void
multiply_short(uint64_t *w, size_t limbs, const uint64_t *u, size_t u_limbs, const uint64_t *v, size_t v_limbs)
{
  mp_limb_t x[SHORT], y[SHORT], product[2 * SHORT], fill;
  const size_t both = u_limbs + v_limbs;
  const bool minus = set_size(x, u, u_limbs) != set_size(y, v, v_limbs);

  if (u_limbs >= v_limbs)
    mpn_mul(product, x, (mp_size_t)u_limbs, y, (mp_size_t)v_limbs);
  else
    mpn_mul(product, y, (mp_size_t)v_limbs, x, (mp_size_t)u_limbs);
  if (minus)
    mpn_neg(product, product, (mp_size_t)both);
  fill = -(product[both - 1] >> 63);
  for (size_t l = 0; l < limbs; l++)
    w[l] = l < both ? product[l] : fill;
}

/* Derivatives of single entries are mostly zeros: these are not multiplied. */
static void
hadamard_words(clarke_matrix *c, const clarke_matrix *a, const clarke_matrix *b)
{
  const bool narrow = a->limbs == 1 && b->limbs == 1 && c->limbs <= 2;
  mpz_t x, y;

  mpz_inits(x, y, NULL);
  for (size_t i = 0; i < c->rows; i++)
    for (size_t j = 0; j < c->cols; j++) {
      const uint64_t *u = clarke_entry(a, i * a->cols + j), *v = clarke_entry(b, beside(b, i, j));
      uint64_t *w = clarke_entry(c, i * c->cols + j);

      if (narrow) {
        const clarke_int128 both = (clarke_int128)(int64_t)u[0] * (int64_t)v[0];

        w[0] = (uint64_t)both;
        if (c->limbs == 2)
          w[1] = (uint64_t)(both >> 64);
        continue;
      }
      if (is_zero(u, a->limbs)) {
        memset(w, 0, c->limbs * sizeof *w);
        continue;
      }
      if (a->limbs <= SHORT && b->limbs <= SHORT) {
        multiply_short(w, c->limbs, u, a->limbs, v, b->limbs);
        continue;
      }
      clarke_word_get(x, u, a->limbs);
      clarke_word_get(y, v, b->limbs);
      mpz_mul(x, x, y);
      clarke_word_set(w, c->limbs, x);
    }
  mpz_clears(x, y, NULL);
}

/* |a| rad(b) + rad(a) (|b| + rad(b)) */
static clarke_status
hadamard_radius(clarke_matrix *c, const clarke_matrix *a, const clarke_matrix *b,
                clarke_error *err)
{
  const clarke_scale_bound a_bound = clarke_matrix_scale_bound(a);
  const clarke_scale_bound b_bound = clarke_matrix_scale_bound(b);
  clarke_status status;

  if (a->radius == NULL && b->radius == NULL)
    return CLARKE_OK;
  status = clarke_matrix_need_radius(c, err);
  for (size_t i = 0; i < c->rows && status == CLARKE_OK; i++)
    for (size_t j = 0; j < c->cols; j++) {
      const size_t k = i * a->cols + j, l = beside(b, i, j);
      const double r = a->radius == NULL ? 0 : a->radius[k];
      const double s = b->radius == NULL ? 0 : b->radius[l];
      const double x = clarke_matrix_magnitude(a, a_bound, k);
      const double y = clarke_matrix_magnitude(b, b_bound, l);

      c->radius[i * c->cols + j] =
          clarke_up_add(clarke_up_mul(x, s), clarke_up_mul(r, clarke_up_add(y, s)));
    }
  return status;
}

clarke_status
clarke_matrix_hadamard(clarke_matrix *c, const clarke_matrix *a, const clarke_matrix *b,
                       clarke_error *err)
{
  clarke_status status = check_shapes(a, b, err);
  clarke_matrix fresh;
  mpz_t den;

  CLARKE_VERIFY_CHECK(clarke_matrix_is_valid(a) && clarke_matrix_is_valid(b));
  if (status != CLARKE_OK)
    return status;
  clarke_tally_add(0, a->rows * a->cols, 0);
  clarke_matrix_init(&fresh);
  mpz_init(den);
  mpz_mul(den, a->den, b->den);
  status = clarke_matrix_shape_bits(&fresh, a->rows, a->cols,
                                    clarke_matrix_bits(a) + clarke_matrix_bits(b), err);
  if (status == CLARKE_OK) {
    hadamard_words(&fresh, a, b);
    status = clarke_matrix_set_scale(&fresh, a->exp + b->exp, den, err);
  }
  if (status == CLARKE_OK)
    status = hadamard_radius(&fresh, a, b, err);
  if (status == CLARKE_OK)
    clarke_matrix_swap(c, &fresh);
  mpz_clear(den);
  clarke_matrix_clear(&fresh);
  return status;
}
