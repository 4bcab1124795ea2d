/* Signs of entries of a matrix less a number or each other, and whether two matrices are equal. */
#include "exact/matrix.h"

#include "exact/matrix_inside.h"
#include "exact/number.h"
#include "exact/upward.h"

#include <string.h>

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

/* What doubles do not tell of a sign. */
#define UNTOLD 3

/* The sign of value - c, doubles that are off by a few roundings each; 2 where the difference is less than r. UNTOLD where they
 * leave that open, or are too far from 1. */
static int
sign_roughly(double value, double c, double r)
{
  const double mass = fabs(value) + fabs(c), gap = fabs(value - c), slack = clarke_taken(16, mass);

  if (!(mass < 0x1p900 && mass > 0x1p-900))
    return UNTOLD;
  if (clarke_down_by(gap - slack, 4) > r)
    return value < c ? -1 : 1;
  return clarke_up_by(gap + slack, 4) < r ? 2 : UNTOLD;
}

/* The sign of entry - c, r being an upper bound of what it is off by; 2 when that leaves it open. */
static int
beyond_radius(const clarke_matrix *m, size_t index, double r, const mpq_t c)
{
  const double rough = mpq_sgn(c) != 0 ? mpq_get_d(c) : 0;
  mpq_t gap, radius;
  int sign, beyond;

  if (!isfinite(r))
    return 2;
  sign = sign_roughly(clarke_matrix_get_double(m, index / m->cols, index % m->cols), rough, r);
  if (sign != UNTOLD)
    return sign;
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

  clarke_tally_add(1, 0, 0);
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

  clarke_tally_add(1, 0, 0);
  if (m->radius != NULL && (m->radius[one] != 0 || m->radius[other] != 0)) {
    const double off = clarke_up_add(m->radius[one], m->radius[other]);

    sign = isfinite(off) ? sign_roughly(clarke_matrix_get_double(m, i, j), clarke_matrix_get_double(m, k, j), off) : 2;
    if (sign != UNTOLD)
      return sign;
    mpq_init(c);
    clarke_matrix_get(c, m, k, j);
    sign = beyond_radius(m, one, off, c);
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

  clarke_tally_add(count, 0, 0);
  mpz_init(value);
  threshold_init(&t, m, c);
  for (size_t k = 0; k < count; k++) {
    const int s = threshold_sign(&t, clarke_entry(m, k), m->limbs, value);

    sign[k] = (signed char)(m->radius == NULL ? s : within_radius(m, k, c, s));
  }
  mpz_clear(t.floor);
  mpz_clear(value);
}
