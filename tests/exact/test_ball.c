/* Arb balls as entries of matrices, and back: no point of a ball is lost, and what is exact stays so. Words of entries. */
#include "exact/ball.h"
#include "../ok.h"
#include "samples.h"

#include "exact/matrix_inside.h"

#include <math.h>

static void
sample_ball(arb_t ball, uint64_t *state)
{
  mpz_t z;
  fmpz_t integer;

  mpz_init(z);
  fmpz_init(integer);
  sample_integer(z, state, 90);
  fmpz_set_mpz(integer, z);
  arb_set_fmpz(ball, integer);
  arb_mul_2exp_si(ball, ball, (slong)draw_below(state, 120) - 100);
  if (draw_below(state, 2) == 0)
    mag_set_ui_2exp_si(arb_radref(ball), draw_below(state, 1000), (slong)draw_below(state, 60) - 70);
  mpz_clear(z);
  fmpz_clear(integer);
}

/* Is the ball inside entry e of m, and the entry no wider than the ball and two units of the precision? */
static void
check_entry(const clarke_matrix *m, size_t e, const arb_t ball, long precision)
{
  const double radius = m->radius != NULL ? m->radius[e] : 0;
  arb_t kept;
  arf_t error_bound;
  mag_t allowed;

  arb_init(kept);
  arf_init(error_bound);
  mag_init(allowed);
  clarke_matrix_get_ball(kept, m, e / m->cols, e % m->cols, 300);
  ck_assert(arb_contains(kept, ball));
  mag_set_ui_2exp_si(allowed, 2, -precision);
  mag_add(allowed, allowed, arb_radref(ball));
  arf_set_d(error_bound, radius);
  ck_assert(arf_cmpabs_mag(error_bound, allowed) <= 0 || radius <= 2 * mag_get_d(arb_radref(ball)));
  if (arb_is_exact(ball)) {
    arf_t scaled;

    arf_init(scaled);
    arf_mul_2exp_si(scaled, arb_midref(ball), precision);
    ck_assert_int_eq(radius == 0, arf_is_int(scaled));
    arf_clear(scaled);
  }
  arb_clear(kept);
  arf_clear(error_bound);
  mag_clear(allowed);
}

START_TEST(nothing_is_lost)
{
  static const long precisions[] = {1, 20, 63, 64, 65, 150};
  uint64_t state = 1;
  size_t exact = 0;

  for (int round = 0; round < 400; round++) {
    const long precision = precisions[draw_below(&state, 6)];
    const size_t rows = 1 + draw_below(&state, 3), cols = 1 + draw_below(&state, 3);
    arb_ptr balls = _arb_vec_init((slong)(rows * cols));
    clarke_matrix m;

    clarke_matrix_init(&m);
    for (size_t e = 0; e < rows * cols; e++)
      if (round % 4 == 0)
        arb_set_si(balls + e, (slong)draw_between(&state, -9, 9));
      else
        sample_ball(balls + e, &state);
    OK(clarke_matrix_set_balls(&m, rows, cols, balls, precision, &error));
    ck_assert(m.rows == rows && m.cols == cols);
    ck_assert(round % 4 != 0 || m.radius == NULL);
    exact += m.radius == NULL;
    for (size_t e = 0; e < rows * cols; e++)
      check_entry(&m, e, balls + e, precision);
    clarke_matrix_clear(&m);
    _arb_vec_clear(balls, (slong)(rows * cols));
  }
  ck_assert_uint_lt(exact, 300);
}
END_TEST

/* A ball without end is no entry: more precision may help. */
START_TEST(infinite_balls)
{
  arb_ptr balls = _arb_vec_init(2);
  clarke_matrix m;

  clarke_matrix_init(&m);
  arb_set_si(balls, 1);
  arb_pos_inf(balls + 1);
  ck_assert_int_eq(clarke_matrix_set_balls(&m, 1, 2, balls, 64, &error), CLARKE_EVAGUE);
  ck_assert_str_eq(error.text, "a value has no finite enclosure");
  arb_zero_pm_inf(balls + 1);
  ck_assert_int_eq(clarke_matrix_set_balls(&m, 2, 1, balls, 64, &error), CLARKE_EVAGUE);
  OK(clarke_matrix_set_balls(&m, 0, 2, balls, 64, &error));
  ck_assert_uint_eq(m.rows, 0);
  clarke_matrix_clear(&m);
  _arb_vec_clear(balls, 2);
}
END_TEST

/* An entry's words are its number in two's complement. */
START_TEST(words_of_entries)
{
  uint64_t state = 2;

  for (int round = 0; round < 200; round++) {
    const size_t limbs = 1 + draw_below(&state, 4), rows = 1 + draw_below(&state, 3);
    clarke_matrix m;
    mpz_t z, kept;

    mpz_inits(z, kept, NULL);
    clarke_matrix_init(&m);
    OK(clarke_matrix_resize(&m, rows, 3, limbs, &error));
    for (size_t k = 0; k < 3 * rows; k++) {
      sample_integer(z, &state, 64 * limbs - 1);
      if (mpz_sizeinbase(z, 2) > 64 * limbs - 1)
        mpz_set_ui(z, 1);
      clarke_word_set(clarke_entry(&m, k), limbs, z);
      clarke_matrix_load(kept, &m, k / 3, k % 3);
      ck_assert_int_eq(mpz_cmp(z, kept), 0);
      clarke_word_get(kept, clarke_entry(&m, k), limbs);
      ck_assert_int_eq(mpz_cmp(z, kept), 0);
      ck_assert_int_eq(clarke_word_negative(clarke_entry(&m, k), limbs), mpz_sgn(z) < 0);
      ck_assert_int_eq(clarke_word_zero(clarke_entry(&m, k), limbs), mpz_sgn(z) == 0);
    }
    mpz_clears(z, kept, NULL);
    clarke_matrix_clear(&m);
  }
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("ball");
  int failed;

  tcase_add_test(tests, nothing_is_lost);
  tcase_add_test(tests, infinite_balls);
  tcase_add_test(tests, words_of_entries);
  failed = run_tests();
  flint_cleanup_master();
  return failed;
}
