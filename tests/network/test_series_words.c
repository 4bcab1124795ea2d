/* Functions of matrices by their series, word by word: against MPFR at points of what entries may be, and Horner's rule against GMP's integers. */
#include "../draw.h"
#include "../ok.h"
#include "../suite.h"
#include "mpfr_normal.h"

#include "network/pass/series/cell.h"
#include "network/pass/series/words.h"

#include <math.h>
#include <mpfr.h>
#include <stdio.h>

#define BITS 900
#define ROWS 3
#define COLS 4

static clarke_kept *kept; /* set before the tests begin */

/* erf, or the normal distribution. */
static void
by_mpfr(mpfr_t y, mpfr_srcptr x, clarke_function function)
{
  if (function == CLARKE_ERF)
    mpfr_erf(y, x, MPFR_RNDN);
  else
    mpfr_normal(y, x);
}

/* An integer for the entry: anything, 0, near the border of two cells or a middle, or beyond them all. */
static void
draw_entry(clarke_matrix *m, size_t i, size_t j, uint64_t *state)
{
  const size_t kind = draw_below(state, 8), bits = 1 + draw_below(state, 250);
  mpz_t z;

  mpz_init(z);
  for (size_t k = 0; k < 4; k++) {
    mpz_mul_2exp(z, z, 64);
    mpz_add_ui(z, z, draw(state));
  }
  mpz_tdiv_q_2exp(z, z, 256 - bits);
  if (kind < 4 && m->exp < -8) { /* a multiple of 1/32, and at most so many units beside it */
    mpz_set_si(z, draw_between(state, kind == 3 ? -1200 : -100, kind == 3 ? 1200 : 100));
    mpz_mul_2exp(z, z, (mp_bitcnt_t)(-m->exp - 5));
    mpz_mul(z, z, m->den);
    if (draw_below(state, 2))
      mpz_add_ui(z, z, draw_below(state, 3) - 1 + (draw_below(state, 2) ? draw_below(state, 1000) : 0));
  } else if (kind == 4)
    mpz_set_ui(z, 0);
  else if (kind == 5) { /* a small number, and so much more that words which do not hold it have that alone */
    mpz_set_ui(z, 1 + draw_below(state, 8));
    mpz_mul_2exp(z, z, 64 + draw_below(state, 4));
    mpz_add_ui(z, z, 1 + draw_below(state, 30));
    mpz_mul_2exp(z, z, (mp_bitcnt_t)-m->exp);
    mpz_mul(z, z, m->den);
  }
  if (draw_below(state, 2))
    mpz_neg(z, z);
  OK(clarke_matrix_store(m, i, j, z, NULL));
  mpz_clear(z);
}

static void
draw_matrix(clarke_matrix *m, uint64_t *state)
{
  OK(clarke_matrix_resize(m, ROWS, COLS, 1, NULL));
  m->exp = -(long)draw_below(state, 260);
  if (draw_below(state, 2))
    mpz_set_ui(m->den, 1 | draw(state) >> draw_below(state, 64));
  for (size_t e = 0; e < ROWS * COLS; e++)
    draw_entry(m, e / COLS, e % COLS, state);
  if (draw_below(state, 4) == 0)
    return;
  OK(clarke_matrix_need_radius(m, NULL));
  for (size_t e = 0; e < ROWS * COLS; e++)
    m->radius[e] = draw_below(state, 4) == 0 ? 0 : ldexp(1 + (double)draw_below(state, 1000) / 1000, -(int)draw_below(state, 230));
}

/* Is the function at a point within the radius of x's entry, one end or between, in what y says of it? */
static void
check_entry(const clarke_matrix *y, const clarke_matrix *x, size_t e, clarke_function function, uint64_t *state)
{
  mpq_t at, part, value;
  mpfr_t f, have;

  mpq_inits(at, part, value, NULL);
  mpfr_inits2(BITS, f, have, NULL);
  clarke_matrix_get(at, x, e / COLS, e % COLS);
  mpq_set_d(part, clarke_matrix_radius(x, e / COLS, e % COLS));
  mpq_set_si(value, draw_between(state, -4, 4), 4);
  mpq_canonicalize(value);
  mpq_mul(part, part, value);
  mpq_add(at, at, part);
  mpfr_set_q(f, at, MPFR_RNDN);
  by_mpfr(f, f, function);
  clarke_matrix_get(value, y, e / COLS, e % COLS);
  mpfr_set_q(have, value, MPFR_RNDN);
  mpfr_sub(f, f, have, MPFR_RNDN);
  mpfr_abs(f, f, MPFR_RNDN);
  mpfr_set_d(have, clarke_matrix_radius(y, e / COLS, e % COLS), MPFR_RNDN);
  mpfr_add_d(have, have, 0x1p-700, MPFR_RNDN); /* what MPFR rounds */
  ck_assert_msg(mpfr_lessequal_p(f, have), "entry %zu, near %g, radius %g: off by %g, said to be by %g", e, mpq_get_d(at),
                clarke_matrix_radius(x, e / COLS, e % COLS), mpfr_get_d(f, MPFR_RNDU), clarke_matrix_radius(y, e / COLS, e % COLS));
  mpq_clears(at, part, value, NULL);
  mpfr_clears(f, have, NULL);
}

/* Where a cell has it an entry is as near as was asked for, or as its argument allows. */
static bool
is_near(const clarke_matrix *y, const clarke_matrix *x, size_t e, long precision)
{
  const double wide = clarke_matrix_radius(x, e / COLS, e % COLS), at = clarke_matrix_get_double(x, e / COLS, e % COLS);

  if (!(wide <= 0x1p-6) || !(fabs(at) < 31.5))
    return false;
  ck_assert(clarke_matrix_radius(y, e / COLS, e % COLS) <= 1.3 * wide + ldexp(1, 4 - (int)precision));
  return true;
}

START_TEST(matrices)
{
  static const long precision[] = {20, 64, 74, 75, 127, 137, 138, 191, 201, 202, 260};
  uint64_t state = 11 + (uint64_t)_i;
  const clarke_function function = _i == 0 ? CLARKE_ERF : CLARKE_NORMAL;
  size_t near = 0;

  for (size_t round = 0; round < draw_count(600); round++) {
    const long bits = precision[draw_below(&state, sizeof precision / sizeof *precision)];
    clarke_matrix x, y;

    clarke_matrix_init(&x);
    clarke_matrix_init(&y);
    draw_matrix(&x, &state);
    ck_assert(clarke_series_has_words(&x, function, bits));
    OK(clarke_series_matrix(&y, kept, &x, function, bits, NULL));
    ck_assert(y.rows == ROWS && y.cols == COLS && clarke_matrix_is_valid(&y) && clarke_matrix_bits(&y) <= (size_t)bits + 1);
    for (size_t e = 0; e < ROWS * COLS; e++) {
      check_entry(&y, &x, e, function, &state);
      near += is_near(&y, &x, e, bits);
      if (function == CLARKE_ERF && clarke_matrix_entry_is_zero(&x, e / COLS, e % COLS))
        ck_assert(clarke_matrix_entry_is_zero(&y, e / COLS, e % COLS));
    }
    clarke_matrix_clear(&x);
    clarke_matrix_clear(&y);
  }
  printf("series of words: %zu entries near\n", near);
  ck_assert_uint_gt(near, draw_count(800));
}
END_TEST

/* Of zeros erf is exactly 0: no enclosure. What nothing is known of is refused, or not followed. */
START_TEST(zeros_and_others)
{
  clarke_matrix x, y;
  uint64_t word[4];
  double radius;

  clarke_matrix_init(&x);
  clarke_matrix_init(&y);
  OK(clarke_matrix_resize(&x, ROWS, COLS, 1, NULL));
  OK(clarke_series_matrix(&y, kept, &x, CLARKE_ERF, 127, NULL));
  ck_assert(y.radius == NULL && clarke_matrix_is_zero(&y));
  ck_assert(!clarke_series_words(word, &radius, kept, CLARKE_ERF, &x, 0, 3));
  OK(clarke_series_matrix(&y, NULL, &x, CLARKE_NORMAL, 127, NULL));
  ck_assert(clarke_matrix_get_double(&y, 0, 0) == 0.5);
  ck_assert(!clarke_series_has_words(&x, CLARKE_TANH, 127) && !clarke_series_has_words(&x, CLARKE_ERF, 100000));
  mpz_ui_pow_ui(x.den, 3, 50);
  ck_assert(!clarke_series_has_words(&x, CLARKE_ERF, 127));
  mpz_set_ui(x.den, 1);
  OK(clarke_matrix_need_radius(&x, NULL));
  x.word[0] = 3;
  x.radius[0] = 0x1p-40;
  ck_assert(clarke_series_words(word, &radius, kept, CLARKE_ERF, &x, 0, 3) && radius < 0x1p-50 && (word[3] == 0 || word[3] == 1));
  ck_assert(clarke_series_words(word, &radius, NULL, CLARKE_ERF, &x, 0, 3));
  x.word[0] = (uint64_t)-33;
  ck_assert(!clarke_series_words(word, &radius, kept, CLARKE_ERF, &x, 0, 3)); /* beyond the cells */
  x.word[0] = 3;
  x.radius[0] = 1;
  ck_assert(!clarke_series_words(word, &radius, kept, CLARKE_ERF, &x, 0, 3));
  x.radius[0] = INFINITY;
  ck_assert_int_eq(clarke_series_matrix(&y, kept, &x, CLARKE_ERF, 127, NULL) == CLARKE_OK && !(y.radius[0] >= 1), 0);
  clarke_matrix_clear(&x);
  clarke_matrix_clear(&y);
}
END_TEST

/* Words as one integer, in two's complement. */
static void
integer_of(mpz_t z, const mp_limb_t *word, size_t n)
{
  mpz_import(z, n, -1, sizeof *word, 0, 0, word);
  if (word[n - 1] >> 63 != 0) {
    mpz_t power;

    mpz_init(power);
    mpz_setbit(power, 64 * n);
    mpz_sub(z, z, power);
    mpz_clear(power);
  }
}

/* Is the number, with the cell's words behind the point, as near to the whole polynomial at t as the cell says? */
static void
near_the_polynomial(const mpz_t value, const clarke_ball_cell *c, const mp_limb_t *t, bool negative)
{
  mpq_t sum, at, term;

  mpq_inits(sum, at, term, NULL);
  mpz_import(mpq_numref(at), c->limbs, -1, sizeof *t, 0, 0, t);
  mpq_div_2exp(at, at, 64 * c->limbs);
  if (negative)
    mpq_neg(at, at);
  for (size_t i = c->terms; i-- > 0;) {
    mpq_mul(sum, sum, at);
    mpq_set_ui(term, 0, 1);
    integer_of(mpq_numref(term), c->word + i * (c->limbs + 1), c->limbs + 1);
    mpq_div_2exp(term, term, 64 * c->limbs);
    mpq_add(sum, sum, term);
  }
  mpq_set_z(term, value);
  mpq_div_2exp(term, term, 64 * c->limbs);
  mpq_sub(sum, sum, term);
  mpq_abs(sum, sum);
  mpq_set_d(term, c->off);
  ck_assert_int_le(mpq_cmp(sum, term), 0);
  mpq_clears(sum, at, term, NULL);
}

START_TEST(horner)
{
  uint64_t state = 5;

  for (size_t round = 0; round < draw_count(2000); round++) {
    const size_t limbs = 2 + draw_below(&state, CLARKE_LEVELS);
    const clarke_ball_cell *c = clarke_series_ball_cell(kept, CLARKE_ERF, draw_between(&state, -60, 60), limbs);
    const bool negative = draw_below(&state, 2);
    mp_limb_t t[CLARKE_LEVELS + 1], y[CLARKE_LEVELS + 2];
    mpz_t want, by, have;

    mpz_inits(want, by, have, NULL);
    for (size_t k = 0; k < limbs; k++)
      t[k] = draw_below(&state, 4) == 0 ? UINT64_MAX : draw_below(&state, 4) == 0 ? 0 : draw(&state);
    t[limbs - 1] >>= 5;
    mpz_set_ui(want, 0);
    for (size_t i = c->terms; i-- > 0;) { /* each product is cut towards 0, coefficients and t to the words that do */
      size_t level = 1;

      while (i < clarke_ball_cell_first(limbs, level))
        level++;
      mpz_import(by, level, -1, sizeof *t, 0, 0, t + (limbs - level));
      mpz_fdiv_q_2exp(want, want, 64 * (limbs - level)); /* zeros */
      mpz_mul(want, want, by);
      mpz_tdiv_q_2exp(want, want, 64 * level);
      if (negative)
        mpz_neg(want, want);
      integer_of(have, c->word + i * (limbs + 1) + (limbs - level), level + 1);
      mpz_add(want, want, have);
      mpz_mul_2exp(want, want, 64 * (limbs - level));
    }
    near_the_polynomial(want, c, t, negative);
    clarke_ball_cell_evaluate(y, c, t, negative);
    integer_of(have, y, limbs + 1);
    ck_assert_int_eq(mpz_cmp(have, want), 0);
    mpz_clears(want, by, have, NULL);
  }
}
END_TEST

START_TEST(cells_by_number)
{
  long k;

  ck_assert(clarke_series_find_cell(&k, 1.5) && k == 24);
  ck_assert(clarke_series_find_cell(&k, -32) && k == -512);
  ck_assert(!clarke_series_find_cell(&k, 33) && !clarke_series_find_cell(&k, INFINITY));
  ck_assert(clarke_series_limbs(1) == 2 && clarke_series_limbs(64) == 2 && clarke_series_limbs(84) == 3 && clarke_series_limbs(148) == 4);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("series of words");
  int failed;

  kept = clarke_kept_new();
  tcase_add_loop_test(tests, matrices, 0, 2);
  tcase_add_test(tests, zeros_and_others);
  tcase_add_test(tests, horner);
  tcase_add_test(tests, cells_by_number);
  failed = run_tests();
  clarke_kept_free(kept);
  return failed;
}
