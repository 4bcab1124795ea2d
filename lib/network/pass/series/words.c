/* Functions of a matrix's entries, word by word: the polynomial of an entry's cell in fixed point, without a ball of Arb's for each. */
#include "network/pass/series/words.h"

#include "exact/upward.h"
#include "network/pass/analytic.h"
#include "network/pass/series/cell.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gmp.h>

#define MOST_LIMBS (CLARKE_LEVELS + 1)

__extension__ typedef unsigned __int128 two_words;

/* Bits by which a function is to be nearer than its argument is known. */
#define NEARER 20
/* And by which they are nearer than the precision that is asked for, before they are rounded. */
#define SPARE 10

/* --- Horner's rule ---------------------------------------------------------------------------- */

/* product = a b, of n and m words. */
static inline void
multiply(mp_limb_t *product, const mp_limb_t *a, size_t n, const mp_limb_t *b, size_t m)
{
  memset(product, 0, n * sizeof *product);
  for (size_t j = 0; j < m; j++) {
    two_words carry = 0;

    for (size_t i = 0; i < n; i++) {
      carry += (two_words)a[i] * b[j] + product[i + j];
      product[i + j] = (mp_limb_t)carry;
      carry >>= 64;
    }
    product[n + j] = (mp_limb_t)carry;
  }
}

/* y = -y */
static inline void
negate(mp_limb_t *y, size_t n)
{
  two_words carry = 1;

  for (size_t i = 0; i < n; i++) {
    carry += (mp_limb_t)~y[i];
    y[i] = (mp_limb_t)carry;
    carry >>= 64;
  }
}

/* y = c + p, or c - p. */
static inline void
add_or_take(mp_limb_t *y, const mp_limb_t *c, const mp_limb_t *p, bool take, size_t n)
{
  two_words carry = take;

  for (size_t i = 0; i < n; i++) {
    carry += (two_words)c[i] + (take ? ~p[i] : p[i]);
    y[i] = (mp_limb_t)carry;
    carry >>= 64;
  }
}

/* Coefficients from *i down to the first that so many words do for. limbs and level are constants where this is inlined. */
static inline __attribute__((always_inline)) void
evaluate_down(mp_limb_t *y, size_t *i, const clarke_ball_cell *c, const mp_limb_t *t, bool negative, size_t limbs, size_t level)
{
  const size_t words = level + 1, skipped = limbs - level, first = clarke_ball_cell_first(limbs, level);
  mp_limb_t product[2 * MOST_LIMBS + 1];

  while (*i > first) {
    const bool below = y[limbs] >> 63 != 0;

    --*i;
    if (below)
      negate(y + skipped, words);
    multiply(product, y + skipped, words, t + skipped, level);
    add_or_take(y + skipped, c->word + *i * (limbs + 1) + skipped, product + level, below != negative, words);
  }
}

/* With so many words behind the point, a constant where this is inlined. What lies below those of a level is 0, until a level has more. */
static inline __attribute__((always_inline)) void
evaluate(mp_limb_t *y, const clarke_ball_cell *c, const mp_limb_t *t, bool negative, size_t limbs)
{
  size_t i = c->terms - 1, level = 1;

  while (i < clarke_ball_cell_first(limbs, level))
    level++;
  memset(y, 0, (limbs + 1) * sizeof *y);
  memcpy(y + (limbs - level), c->word + i * (limbs + 1) + (limbs - level), (level + 1) * sizeof *y);
  evaluate_down(y, &i, c, t, negative, limbs, 1);
  evaluate_down(y, &i, c, t, negative, limbs, 2);
  if (limbs > 2)
    evaluate_down(y, &i, c, t, negative, limbs, 3);
  if (limbs > 3)
    evaluate_down(y, &i, c, t, negative, limbs, 4);
  if (limbs > 4)
    evaluate_down(y, &i, c, t, negative, limbs, limbs);
}

void
clarke_ball_cell_evaluate(mp_limb_t *y, const clarke_ball_cell *c, const mp_limb_t *t, bool negative)
{
  if (c->limbs == 2)
    evaluate(y, c, t, negative, 2);
  else if (c->limbs == 3)
    evaluate(y, c, t, negative, 3);
  else if (c->limbs == 4)
    evaluate(y, c, t, negative, 4);
  else
    evaluate(y, c, t, negative, c->limbs);
}

/* --- an entry --------------------------------------------------------------------------------- */

/* All ones for a number below 0, else 0. */
static inline uint64_t
sign_of(const uint64_t *word, size_t limbs)
{
  return -(word[limbs - 1] >> 63);
}

static inline bool
is_zero(const uint64_t *word, size_t limbs)
{
  uint64_t any = 0;

  for (size_t k = 0; k < limbs; k++)
    any |= word[k];
  return any == 0;
}

/* A word of the number that goes on below with zeros, and above with its sign. */
static inline uint64_t
word_at(const uint64_t *from, size_t limbs, long i)
{
  return i < 0 ? 0 : i < (long)limbs ? from[i] : sign_of(from, limbs);
}

/* 64 bits of it, from bit `bit` on. */
static inline uint64_t
bits_from(const uint64_t *from, size_t limbs, long bit)
{
  const long q = bit >= 0 ? bit / 64 : -((63 - bit) / 64);
  const unsigned r = (unsigned)(bit - 64 * q);
  const uint64_t low = word_at(from, limbs, q);

  return r == 0 ? low : low >> r | word_at(from, limbs, q + 1) << (64 - r);
}

/* to = from 2^shift, rounded down, of n words; false where it does not fit. */
static bool
fixed_point(uint64_t *to, size_t n, const uint64_t *from, size_t limbs, long shift)
{
  const uint64_t fill = sign_of(from, limbs);

  for (size_t k = 0; k < n; k++)
    to[k] = bits_from(from, limbs, 64 * (long)k - shift);
  for (long bit = 64 * (long)n - shift; bit < 64 * (long)limbs; bit += 64)
    if (bits_from(from, limbs, bit) != fill)
      return false;
  return to[n - 1] >> 63 == (fill & 1);
}

/* The same divided by a number of one word: off by less than two units, as it is rounded twice. */
static bool
fixed_quotient(uint64_t *to, size_t n, const uint64_t *from, size_t limbs, long shift, mp_limb_t by)
{
  uint64_t size[MOST_LIMBS + 2];
  const bool below = from[limbs - 1] >> 63 != 0;

  if (!fixed_point(size, n + 1, from, limbs, shift))
    return false;
  if (below)
    negate(size, n + 1);
  mpn_divrem_1(size, 0, size, (mp_size_t)n + 1, by);
  if (size[n] != 0 || size[n - 1] >> 63 != 0)
    return false;
  if (below)
    negate(size, n);
  memcpy(to, size, n * sizeof *to);
  return true;
}

/* Entry e of x with so many words behind the point, off by less than two units of the last place. */
static bool
fixed_entry(uint64_t *to, const clarke_matrix *x, size_t e, size_t limbs)
{
  const uint64_t *word = x->word + e * x->limbs;
  const long shift = x->exp + 64 * (long)limbs;

  if (mpz_cmp_ui(x->den, 1) == 0)
    return fixed_point(to, limbs + 1, word, x->limbs, shift);
  return fixed_quotient(to, limbs + 1, word, x->limbs, shift, mpz_getlimbn(x->den, 0));
}

/* |t| of the argument's distance from cell k's middle; its sign is given. */
static bool
distance_words(mp_limb_t *t, const uint64_t *x, long k, size_t limbs)
{
  uint64_t cell[MOST_LIMBS + 1] = {0}, to[MOST_LIMBS + 1];
  bool negative;

  cell[limbs - 1] = (uint64_t)k << 60;
  cell[limbs] = (uint64_t)(k >= 0 ? k / 16 : -((15 - k) / 16));
  add_or_take(to, x, cell, true, limbs + 1);
  negative = to[limbs] >> 63 != 0;
  if (negative)
    negate(to, limbs + 1);
  memcpy(t, to, limbs * sizeof *t);
  return negative;
}

bool
clarke_series_words(uint64_t *y, double *radius, clarke_kept *kept, clarke_function function, const clarke_matrix *x, size_t e, size_t limbs)
{
  const double wide = x->radius != NULL ? x->radius[e] : 0, unit = ldexp(1, -64 * (int)limbs);
  uint64_t fixed[MOST_LIMBS + 1];
  mp_limb_t t[MOST_LIMBS];
  const clarke_ball_cell *c;
  bool bounded;
  long k;

  if (!(wide <= CLARKE_SERIES_REACH) || (wide == 0 && is_zero(x->word + e * x->limbs, x->limbs)) ||
      !fixed_entry(fixed, x, e, limbs) ||
      !clarke_series_find_cell(&k, (double)(int64_t)fixed[limbs] + (double)fixed[limbs - 1] * 0x1p-64))
    return false;
  c = clarke_series_ball_cell(kept, function, k, limbs);
  bounded = c != NULL && c->off < INFINITY && c->steep < INFINITY;
  if (bounded) {
    const bool negative = distance_words(t, fixed, k, limbs);

    clarke_ball_cell_evaluate(y, c, t, negative);
    *radius = clarke_up_add(c->off, clarke_up_mul(c->steep, clarke_up_add(wide, unit))); /* c->off counts the first unit that t is off by */
  }
  if (kept == NULL)
    free((void *)c);
  return bounded;
}

/* --- a matrix --------------------------------------------------------------------------------- */

/* Words behind the point for an argument with that radius: fewer than the most where it is wide. */
static size_t
words_for(double radius, long precision)
{
  const long known = radius > 0 ? NEARER - (long)ilogb(radius) : precision;

  return clarke_series_limbs(known < precision ? (known > 0 ? known : 0) : precision);
}

/* Entry e of y, by Arb. */
static clarke_status
set_by_ball(clarke_matrix *y, const clarke_matrix *x, size_t e, clarke_function function, long precision, clarke_error *err)
{
  clarke_matrix one;
  clarke_status status;
  mpz_t value;
  arb_t ball;

  arb_init(ball);
  mpz_init(value);
  clarke_matrix_init(&one);
  clarke_matrix_get_ball(ball, x, e / x->cols, e % x->cols, 2 * precision);
  clarke_analytic_value(ball, ball, function, precision);
  status = clarke_matrix_set_balls(&one, 1, 1, ball, -y->exp, err);
  if (status == CLARKE_OK) {
    clarke_matrix_load(value, &one, 0, 0);
    y->radius[e] = clarke_matrix_radius(&one, 0, 0);
    status = clarke_matrix_store(y, e / x->cols, e % x->cols, value, err);
  }
  clarke_matrix_clear(&one);
  mpz_clear(value);
  arb_clear(ball);
  return status;
}

/* y has so many words behind the point. */
static clarke_status
set_entry(clarke_matrix *y, size_t behind, clarke_kept *kept, const clarke_matrix *x, size_t e, clarke_function function, long precision,
          clarke_error *err)
{
  const size_t limbs = words_for(x->radius != NULL ? x->radius[e] : 0, precision);
  uint64_t word[MOST_LIMBS + 1], *to;

  if (!clarke_series_words(word, &y->radius[e], kept, function, x, e, limbs))
    return set_by_ball(y, x, e, function, precision, err);
  to = y->word + e * y->limbs; /* 0 so far */
  memcpy(to + (behind - limbs), word, (limbs + 1) * sizeof *word);
  for (size_t k = behind + 1; k < y->limbs; k++)
    to[k] = sign_of(word, limbs + 1);
  return CLARKE_OK;
}

bool
clarke_series_has_words(const clarke_matrix *x, clarke_function function, long precision)
{
  return (function == CLARKE_ERF || function == CLARKE_NORMAL) && mpz_size(x->den) == 1 && clarke_series_limbs(precision + SPARE) <= MOST_LIMBS;
}

clarke_status
clarke_series_matrix(clarke_matrix *y, clarke_kept *kept, const clarke_matrix *x, clarke_function function, long precision, clarke_error *err)
{
  const size_t entries = x->rows * x->cols, limbs = clarke_series_limbs(precision + SPARE);
  clarke_status status = clarke_matrix_resize(y, x->rows, x->cols, limbs + 1, err);
  bool exact = true;

  if (status == CLARKE_OK)
    status = clarke_matrix_need_radius(y, err);
  y->exp = -64 * (long)limbs;
  for (size_t e = 0; e < entries && status == CLARKE_OK; e++) {
    status = set_entry(y, limbs, kept, x, e, function, precision + SPARE, err);
    exact = exact && y->radius[e] == 0;
  }
  if (exact && status == CLARKE_OK) {
    free(y->radius);
    y->radius = NULL;
  }
  return status == CLARKE_OK ? clarke_matrix_round(y, (size_t)precision, err) : status;
}
