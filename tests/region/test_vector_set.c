/* Distinct vectors against a plain list, through many growths of the table; and common denominators. */
#include "region/denominator.h"
#include "region/vector_set.h"
#include "../draw.h"
#include "../ok.h"

#include <flint/fmpz_vec.h>
#include <string.h>

#define VECTORS 3000

/* Few values, some of them long, so that vectors come again. */
static void
draw_vector(fmpz *v, size_t width, uint64_t *state)
{
  for (size_t k = 0; k < width; k++) {
    fmpz_set_si(v + k, draw_between(state, -6, 6));
    if (draw_below(state, 8) == 0)
      fmpz_mul_2exp(v + k, v + k, 64 * draw_below(state, 3));
  }
}

START_TEST(against_a_list)
{
  const size_t width = 3;
  uint64_t state = 1;
  fmpz *kept = _fmpz_vec_init((slong)(VECTORS * width)), *v = _fmpz_vec_init((slong)width);
  size_t n = 0;
  clarke_vector_set set;

  clarke_vector_set_init(&set, width);
  for (size_t i = 0; i < VECTORS; i++) {
    size_t number = SIZE_MAX, at = 0;

    draw_vector(v, width, &state);
    while (at < n && !_fmpz_vec_equal(kept + at * width, v, (slong)width))
      at++;
    if (at == n)
      _fmpz_vec_set(kept + n++ * width, v, (slong)width);
    OK(clarke_vector_set_add(&number, &set, v, &error));
    ck_assert_uint_eq(number, at);
    ck_assert_uint_eq(set.n, n);
  }
  ck_assert(_fmpz_vec_equal(set.vector, kept, (slong)(n * width)));
  ck_assert(n > 500 && n < VECTORS);
  clarke_vector_set_clear(&set);
  _fmpz_vec_clear(kept, (slong)(VECTORS * width));
  _fmpz_vec_clear(v, (slong)width);
}
END_TEST

START_TEST(zeroed_or_of_no_width)
{
  clarke_vector_set set;
  size_t number = 7;

  memset(&set, 0, sizeof set);
  clarke_vector_set_clear(&set);
  clarke_vector_set_init(&set, 0);
  for (int i = 0; i < 2; i++) { /* there is one vector without entries */
    OK(clarke_vector_set_add(&number, &set, NULL, &error));
    ck_assert_uint_eq(number, 0);
  }
  clarke_vector_set_clear(&set);
}
END_TEST

/* q / d as to / den, for several q and d of one den. */
START_TEST(common_denominators)
{
  uint64_t state = 3;
  mpq_t q[5], back, want;
  fmpz_t d, den, to;

  for (size_t i = 0; i < 5; i++)
    mpq_init(q[i]);
  mpq_inits(back, want, NULL);
  fmpz_init(d);
  fmpz_init(den);
  fmpz_init(to);
  for (int round = 0; round < 200; round++) {
    fmpz_one(den);
    fmpz_set_si(d, draw_between(&state, 1, 60));
    for (size_t i = 0; i < 5; i++) {
      mpq_set_si(q[i], draw_between(&state, -99, 99), (unsigned long)draw_between(&state, 1, 99));
      mpq_canonicalize(q[i]);
      clarke_denominator_widen(den, q[i], d);
    }
    for (size_t i = 0; i < 5; i++) {
      clarke_denominator_scale(to, q[i], den, d);
      fmpz_get_mpz(mpq_numref(back), to);
      fmpz_get_mpz(mpq_denref(back), den);
      mpq_canonicalize(back);
      mpq_set_ui(want, fmpz_get_ui(d), 1);
      mpq_div(want, q[i], want);
      ck_assert(mpq_equal(back, want));
    }
  }
  for (size_t i = 0; i < 5; i++)
    mpq_clear(q[i]);
  mpq_clears(back, want, NULL);
  fmpz_clear(d);
  fmpz_clear(den);
  fmpz_clear(to);
}
END_TEST

int
main(void)
{
  int failed;
  TCase *tests = tests_of("vector set");

  tcase_add_test(tests, against_a_list);
  tcase_add_test(tests, zeroed_or_of_no_width);
  tcase_add_test(tests, common_denominators);
  failed = run_tests();
  flint_cleanup_master();
  return failed;
}
