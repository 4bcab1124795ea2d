/* Shares of entries along an axis: those of cubic interpolation give back each cubic polynomial that it must; places of Resize by hand;
 * and an axis of drawn places, whose products are what the shares say. */
#include "node.h"

#include "op/lower.h"
#include "op/resample.h"

#include "../draw.h"

static uint64_t state = 3;

/* The shares make 1, whatever a is. With a = -1/2 they give back lines and squares (Keys): of -1, 0, 1 and 2 the place r, and r^2. */
START_TEST(cubic_shares_give_back_polynomials)
{
  for (long n = 0; n <= 12; n++)
    for (long twice = -4; twice <= 1; twice++) {
      mpq_t r, a, share[CLARKE_MOST_SHARES], sum, term;

      mpq_inits(r, a, sum, term, NULL);
      mpq_set_si(r, n, 12);
      mpq_canonicalize(r);
      mpq_set_si(a, twice, 2);
      mpq_canonicalize(a);
      for (size_t k = 0; k < CLARKE_MOST_SHARES; k++)
        mpq_init(share[k]);
      clarke_cubic_shares(share, r, a);
      for (int power = 0; power <= (twice == -1 ? 2 : 0); power++) {
        mpq_set_ui(sum, 0, 1);
        for (long k = 0; k < CLARKE_MOST_SHARES; k++) {
          mpq_set_si(term, power == 0 ? 1 : power == 1 ? k - 1 : (k - 1) * (k - 1), 1);
          mpq_mul(term, term, share[k]);
          mpq_add(sum, sum, term);
        }
        mpq_set_ui(term, 1, 1);
        for (int k = 0; k < power; k++)
          mpq_mul(term, term, r);
        ck_assert(mpq_equal(sum, term));
      }
      for (size_t k = 0; k < CLARKE_MOST_SHARES; k++)
        mpq_clear(share[k]);
      mpq_clears(r, a, sum, term, NULL);
    }
}
END_TEST

static void
check_place(const char *how, size_t in, size_t out, size_t j, const double roi[2], long above, unsigned long below, bool apart)
{
  clarke_places p = {.in = in, .out = out};
  mpq_t scale;

  begin();
  ck_assert_int_eq(clarke_places_init(&p, &low, &error), CLARKE_OK);
  mpq_init(scale);
  mpq_set_ui(scale, out, in);
  mpq_canonicalize(scale);
  clarke_places_set(&p, j, scale, how, roi);
  ck_assert_msg(mpq_cmp_si(p.at[j], above, below) == 0, "%s %zu to %zu, place %zu: %ld/%lu", how, in, out, j, above, below);
  ck_assert_int_eq(p.apart[j], apart);
  mpq_clear(scale);
  clarke_places_clear(&p);
  end();
}

START_TEST(places_are_by_hand)
{
  static const double all[2] = {0, 1}, wide[2] = {-0.5, 1}, behind[2] = {0.75, 1.5};

  check_place("half_pixel", 2, 4, 0, all, -1, 4, false);
  check_place("half_pixel_symmetric", 2, 4, 3, all, 5, 4, false);
  check_place("asymmetric", 2, 4, 3, all, 3, 2, false);
  check_place("align_corners", 3, 5, 1, all, 1, 2, false);
  check_place("align_corners", 3, 1, 0, all, 0, 1, false);
  check_place("pytorch_half_pixel", 4, 1, 0, all, 0, 1, false);
  check_place("half_pixel", 4, 1, 0, all, 3, 2, false);
  check_place("tf_crop_and_resize", 5, 3, 0, wide, -2, 1, true);
  check_place("tf_crop_and_resize", 5, 3, 1, wide, 1, 1, false);
  check_place("tf_crop_and_resize", 5, 1, 0, behind, 9, 2, true);
  check_place("tf_crop_and_resize", 5, 1, 0, all, 2, 1, false);
}
END_TEST

/* What the matrices of the DENSE steps, added and divided by the divisors of the SCALE steps behind them, have for place j and entry e. */
static void
steps_share(mpq_t share, size_t in, size_t j, size_t e)
{
  mpq_t part;

  mpq_init(part);
  mpq_set_ui(share, 0, 1);
  for (size_t i = 0; i < g.n_steps; i++) {
    const clarke_step *s = &g.steps[i];

    if (s->kind == CLARKE_DENSE) {
      mpq_set_d(part, g.values[s->dense.weight].real[j * in + e]);
      mpq_add(share, share, part);
    } else if (s->kind == CLARKE_SCALE) {
      mpq_set_d(part, g.values[s->in[1].value].real[0]);
      mpq_div(share, share, part);
    }
  }
  mpq_clear(part);
}

/* The shares of place j by the definition: entry e's share is the sum of those of the entries that it stands for. */
static void
defined_share(mpq_t share, const clarke_places *p, const clarke_kernel *kernel, size_t j, size_t e)
{
  mpq_t of[CLARKE_MOST_SHARES], r, sum;
  mpz_t first;

  mpz_init(first);
  mpq_inits(r, sum, NULL);
  for (size_t k = 0; k < CLARKE_MOST_SHARES; k++)
    mpq_init(of[k]);
  mpz_fdiv_q(first, mpq_numref(p->at[j]), mpq_denref(p->at[j]));
  mpq_set_z(r, first);
  mpq_sub(r, p->at[j], r);
  clarke_cubic_shares(of, r, kernel->a);
  mpq_set_ui(share, 0, 1);
  for (long k = 0; k < CLARKE_MOST_SHARES; k++) {
    const long at = mpz_get_si(first) - 1 + k, last = (long)p->in - 1;
    const bool outside = at < 0 || at > last;

    if (kernel->exclude && outside)
      continue;
    mpq_add(sum, sum, of[k]);
    if ((size_t)(at < 0 ? 0 : outside ? last : at) == e)
      mpq_add(share, share, of[k]);
  }
  if (kernel->exclude)
    mpq_div(share, share, sum);
  for (size_t k = 0; k < CLARKE_MOST_SHARES; k++)
    mpq_clear(of[k]);
  mpq_clears(r, sum, NULL);
  mpz_clear(first);
}

/* Places of denominators up to 2^24: their cubes are of over 53 bits. */
START_TEST(steps_multiply_by_the_shares)
{
  size_t several = 0;

  for (size_t round = 0; round < 60; round++) {
    const unsigned long below = 1 + (unsigned long)draw_below(&state, round % 2 ? 6 : 1 << 24);
    clarke_places p = {.in = 1 + draw_below(&state, 4), .out = 1 + draw_below(&state, 3)};
    clarke_kernel kernel = {.cubic = true, .exclude = round % 4 == 1};
    const size_t dims[] = {1, p.out, 6};
    size_t value = 0;
    mpq_t share, expected;

    begin();
    mpq_inits(kernel.a, share, expected, NULL);
    mpq_set_si(kernel.a, -3, 4);
    ck_assert_int_eq(clarke_places_init(&p, &low, &error), CLARKE_OK);
    for (size_t j = 0; j < p.out; j++) {
      mpq_set_si(p.at[j], (long)draw_below(&state, below * p.in), below);
      mpq_canonicalize(p.at[j]);
    }
    ck_assert_msg(clarke_resample(&p, &kernel, &low, 1, 6, 3, dims, &value, &error) == CLARKE_OK, "%s", error.text);
    ck_assert_uint_ne(value, 0);
    several += g.n_steps > 2;
    for (size_t j = 0; j < p.out; j++)
      for (size_t e = 0; e < p.in; e++) {
        steps_share(share, p.in, j, e);
        defined_share(expected, &p, &kernel, j, e);
        ck_assert_msg(mpq_equal(share, expected), "round %zu, place %zu, entry %zu", round, j, e);
      }
    mpq_clears(kernel.a, share, expected, NULL);
    clarke_places_clear(&p);
    end();
  }
  ck_assert_uint_gt(several, 10);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("resample");

  tcase_add_test(tests, cubic_shares_give_back_polynomials);
  tcase_add_test(tests, places_are_by_hand);
  tcase_add_test(tests, steps_multiply_by_the_shares);
  return run_tests();
}
