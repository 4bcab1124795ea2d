/* Segments: the integral of what AD returns is the difference of the values, whatever its numbers at kinks (Bolte and Pauwels). */
#include "../ok.h"
#include "drawn_program.h"

#include "program/execute.h"
#include "session/segment.h"

#include <stdlib.h>
#include <string.h>

/* Corners, and points between: so that segments run along kinks and through several at once. */
static void
draw_point(mpq_t *x, size_t n, uint64_t *state)
{
  const long diagonal = draw_entry(state, 2);
  const bool equal = roll(state) % 3 == 0;

  for (size_t i = 0; i < n; i++) {
    mpq_set_si(x[i], equal ? diagonal : draw_entry(state, 4), equal ? 1 : 1 + roll(state) % 3);
    mpq_canonicalize(x[i]);
  }
}

/* The value at A + t (B - A), of the first output. */
static void
value_at(mpq_t value, const clarke_code *p, mpq_t *a, mpq_t *b, const mpq_t t, size_t n)
{
  mpq_t *x = clarke_rationals(n);
  clarke_execution e;

  for (size_t i = 0; i < n; i++) {
    mpq_sub(x[i], b[i], a[i]);
    mpq_mul(x[i], x[i], t);
    mpq_add(x[i], x[i], a[i]);
  }
  clarke_execution_init(&e);
  OK(clarke_execute(&e, p, x, &error));
  mpq_set(value, e.value[p->output[0]].q);
  clarke_execution_clear(&e);
  clarke_rationals_free(x, n);
}

/* Pieces follow one another from 0 to 1; on each of them the function is affine, at thirds of it by execution. */
static void
check_pieces(const clarke_segment *s, const clarke_code *p, mpq_t *a, mpq_t *b, size_t n)
{
  mpq_t t, step, first, value, expected;

  mpq_inits(t, step, first, value, expected, NULL);
  for (size_t k = 0; k < s->n; k++) {
    const clarke_segment_piece *piece = &s->piece[k];

    ck_assert(k == 0 ? mpq_sgn(piece->from) == 0 : mpq_equal(piece->from, s->piece[k - 1].to));
    ck_assert(mpq_cmp(piece->from, piece->to) < 0);
    value_at(first, p, a, b, piece->from, n);
    for (unsigned third = 1; third <= 3; third++) {
      mpq_set_ui(step, third, 3);
      mpq_canonicalize(step);
      mpq_sub(t, piece->to, piece->from);
      mpq_mul(step, step, t);
      mpq_mul(expected, step, piece->slope[0]);
      mpq_add(expected, expected, first);
      mpq_add(t, piece->from, step);
      value_at(value, p, a, b, t, n);
      ck_assert(mpq_equal(value, expected));
    }
  }
  ck_assert(mpq_cmp_ui(s->piece[s->n - 1].to, 1, 1) == 0);
  mpq_clears(t, step, first, value, expected, NULL);
}

/* Drawn segments; kinks and maxima of each network have numbers from the list, in turn. */
static void
check_conservative(const char *const proxies[][2], size_t n_proxies, size_t segments, uint64_t state)
{
  size_t several = 0;
  clarke_profile profile;

  clarke_profile_init(&profile);
  OK(clarke_profile_load(&profile, NULL, &error));
  for (size_t k = 0; k < segments; k++) {
    const size_t n = 1 + roll(&state) % 3;
    mpq_t *a = clarke_rationals(n), *b = clarke_rationals(n);
    clarke_region_function f;
    clarke_segment s;
    source text = {.n = 0};

    put_network(&text, &state, n, proxies[k % n_proxies]);
    draw_point(a, n, &state);
    draw_point(b, n, &state);
    clarke_region_function_init(&f);
    OK(clarke_prog_parse(&f.program, text.text, text.n, "drawn.prog", &error));
    f.n = n;
    OK(clarke_segment_find(&s, &f, a, b, &profile, NULL, &error));
    ck_assert(s.regions.complete);
    ck_assert_msg(s.agree, "%s", text.text);
    ck_assert(mpq_equal(s.integral[0], s.difference[0]));
    check_pieces(&s, &f.program, a, b, n);
    several += s.n > 1;
    clarke_segment_clear(&s);
    clarke_region_function_clear(&f);
    clarke_rationals_free(a, n);
    clarke_rationals_free(b, n);
  }
  clarke_profile_clear(&profile);
  ck_assert_uint_gt(several, segments / 3);
}

START_TEST(far_proxies)
{
  static const char *const proxies[][2] = {
    {"{7/3}", "{hybrid 5/2}"}, {"{-2}", "{hybrid -3}"}, {"{7/3}", "{hybrid -3}"}, {"{-2}", "{hybrid 5/2}"}};

  check_conservative(proxies, 4, 600, 362436069u);
}
END_TEST

START_TEST(near_proxies)
{
  static const char *const proxies[][2] = {{"{left}", "{first}"}, {"{0}", "{mean}"}};

  check_conservative(proxies, 2, 200, 521288629u);
}
END_TEST

int
main(void)
{
  TCase *tc = tests_of("segment");

  tcase_add_test(tc, far_proxies);
  tcase_add_test(tc, near_proxies);
  return run_tests();
}
