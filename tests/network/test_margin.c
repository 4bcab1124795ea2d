/* Distances to kinks: the bounds in doubles hold the exact ones, of exact arguments and of enclosures. */
#include "network/pass/margin.h"
#include "../draw.h"
#include "../ok.h"

#define COUNT 12
#define WIDTH 4

static void
set_up(clarke_graph *g, clarke_step *s, clarke_value *value)
{
  value[0] = (clarke_value){.count = COUNT};
  *g = (clarke_graph){.n_values = 1, .values = value, .n_steps = 1, .steps = s};
  s->pieces.slope = CLARKE_NONE;
}

/* Entries of 40 bits, near each other now and then; with radii. */
static void
draw_argument(clarke_matrix *x, bool enclosed, uint64_t *state)
{
  double at[COUNT];

  for (size_t i = 0; i < COUNT; i++)
    at[i] = draw_below(state, 4) == 0 ? (double)draw_between(state, -3, 3) + ldexp(1, -40)
                                      : ldexp((double)draw_between(state, -(1L << 40), 1L << 40), -38);
  OK(clarke_matrix_set_doubles(x, COUNT, 1, at, &error));
  if (!enclosed)
    return;
  OK(clarke_matrix_need_radius(x, &error));
  for (size_t i = 0; i < COUNT; i++)
    x->radius[i] = ldexp((double)draw_below(state, 100), -44);
}

static void
check_distance(const clarke_graph *g, const clarke_step *s, const clarke_matrix *x, clarke_branch place, size_t i)
{
  double least, most;
  size_t kink;
  bool exact = true;
  mpq_t distance, bound;

  mpq_inits(distance, bound, NULL);
  clarke_margin_of(&least, &most, g, s, x, place, i, 0);
  clarke_margin_exactly(distance, &exact, &kink, s, x, place, i, 0);
  ck_assert(least >= 0 && least <= most);
  if (most != INFINITY) {
    mpq_set_d(bound, least);
    ck_assert(mpq_sgn(distance) <= 0 ? least == 0 : mpq_cmp(bound, distance) <= 0);
    mpq_set_d(bound, most);
    ck_assert(mpq_cmp(bound, distance) >= 0);
    ck_assert(most - least <= 0x1p-36 || exact == false);
  }
  ck_assert(x->radius != NULL || exact);
  mpq_clears(distance, bound, NULL);
}

START_TEST(of_kinks)
{
  uint64_t state = 1;
  clarke_value value[1];
  clarke_graph g;
  clarke_step s = {.kind = CLARKE_PIECEWISE, .pieces = {.n_kinks = 2}};
  clarke_matrix x;

  set_up(&g, &s, value);
  clarke_matrix_init(&x);
  for (size_t k = 0; k < 2; k++)
    mpq_init(s.pieces.kink[k]);
  for (size_t i = 0; i < 3; i++)
    for (size_t c = 0; c < 3; c++)
      mpq_init(s.pieces.coef[i][c]);
  mpq_set_si(s.pieces.kink[0], -1, 3);
  mpq_set_si(s.pieces.kink[1], 2, 1);
  mpq_set_ui(s.pieces.coef[1][1], 1, 1);
  for (int round = 0; round < 200; round++) {
    draw_argument(&x, round % 2 == 1, &state);
    for (size_t i = 0; i < COUNT; i++)
      check_distance(&g, &s, &x, 0, i);
  }
  for (size_t k = 0; k < 2; k++)
    mpq_clear(s.pieces.kink[k]);
  for (size_t i = 0; i < 3; i++)
    for (size_t c = 0; c < 3; c++)
      mpq_clear(s.pieces.coef[i][c]);
  clarke_matrix_clear(&x);
}
END_TEST

START_TEST(of_windows)
{
  uint64_t state = 2;
  size_t map[COUNT / 2 * WIDTH];
  clarke_operand in = {.map = map};
  clarke_value value[1];
  clarke_graph g;
  clarke_step s = {.kind = CLARKE_MAX, .width = WIDTH, .n_in = 1, .in = &in};
  clarke_matrix x;

  set_up(&g, &s, value);
  value[0].count = COUNT / 2;
  clarke_matrix_init(&x);
  ck_assert_uint_eq(clarke_margin_compared(&g, &s), COUNT / 2 * WIDTH);
  for (int round = 0; round < 200; round++) {
    for (size_t c = 0; c < COUNT / 2 * WIDTH; c++)
      map[c] = c % WIDTH != 0 && draw_below(&state, 5) == 0 ? CLARKE_NONE : draw_below(&state, COUNT);
    draw_argument(&x, round % 2 == 1, &state);
    for (size_t i = 0; i < COUNT / 2; i++) {
      size_t best = 0;

      for (size_t p = 1; p < WIDTH; p++)
        if (map[i * WIDTH + p] != CLARKE_NONE
            && clarke_matrix_get_double(&x, map[i * WIDTH + p], 0) > clarke_matrix_get_double(&x, map[i * WIDTH + best], 0))
          best = p;
      check_distance(&g, &s, &x, (clarke_branch)best, i);
      ck_assert_uint_eq(clarke_margin_row(&s, i * WIDTH), map[i * WIDTH]);
    }
  }
  clarke_matrix_clear(&x);
}
END_TEST

/* A layer's: the least of all, the size of the largest; a NaN is no bound, and what is forgotten says nothing. */
START_TEST(joined)
{
  clarke_margin a = {.least = INFINITY, .most = INFINITY}, b = a;

  clarke_margin_take(&a, 3, 4, 7);
  clarke_margin_take(&a, 5, 6, 8);
  clarke_margin_hold(&a, 10);
  clarke_margin_take(&b, -1, 2, 9); /* a bound below 0 says no more than 0 */
  clarke_margin_hold(&b, 4);
  ck_assert(a.least == 3 && a.most == 4 && a.feature == 7 && a.size == 10);
  ck_assert(b.least == 0 && b.most == 2 && b.feature == 9);
  clarke_margin_join(&a, &b);
  ck_assert(a.least == 0 && a.most == 2 && a.feature == 9 && a.size == 10);
  clarke_margin_hold(&a, NAN);
  ck_assert(a.size == INFINITY);
  clarke_margin_forget(&b);
  ck_assert(b.least == 0 && b.most == INFINITY && b.size == INFINITY);
}
END_TEST

/* A PRelu of slope 1 has no kink; and sizes are upper bounds, of enclosures, too. */
START_TEST(kinks_and_sizes)
{
  uint64_t state = 3;
  double slope[] = { 1, 0.25 };
  clarke_value value[] = {{.count = 2}, {.count = 2, .real = slope}};
  clarke_graph g = {.n_values = 2, .values = value};
  clarke_step s = {.kind = CLARKE_PIECEWISE, .pieces = {.n_kinks = 1, .slope = 1}};
  clarke_matrix x;

  mpq_init(s.pieces.kink[0]);
  for (size_t i = 0; i < 2; i++)
    for (size_t c = 0; c < 3; c++)
      mpq_init(s.pieces.coef[i][c]);
  ck_assert(!clarke_margin_bends(&g, &s, 0));
  ck_assert(clarke_margin_bends(&g, &s, 1));
  ck_assert(!clarke_margin_is_smooth(&s));
  clarke_matrix_init(&x);
  for (int round = 0; round < 50; round++) {
    draw_argument(&x, true, &state);
    for (size_t i = 0; i < COUNT; i++)
      ck_assert(clarke_margin_size(&x, i, 0) >= fabs(clarke_matrix_get_double(&x, i, 0)) + x.radius[i]);
  }
  clarke_matrix_clear(&x);
  mpq_clear(s.pieces.kink[0]);
  for (size_t i = 0; i < 2; i++)
    for (size_t c = 0; c < 3; c++)
      mpq_clear(s.pieces.coef[i][c]);
}
END_TEST

/* x^2 on the left of its kink, and c x + d on the right: smooth where that is the tangent, 2 k x - k^2, and nowhere near it. */
START_TEST(tangents)
{
  for (int k = -6; k <= 6; k++)
    for (int off = -3; off <= 3; off++)
      for (int finer = 0; finer <= 60; finer += 20) {
        clarke_step s = {.kind = CLARKE_PIECEWISE, .pieces = {.n_kinks = 1, .slope = CLARKE_NONE}};
        mpq_t change;

        mpq_inits(s.pieces.kink[0], change, NULL);
        for (size_t i = 0; i < 2; i++)
          for (size_t c = 0; c < 3; c++)
            mpq_init(s.pieces.coef[i][c]);
        mpq_set_si(s.pieces.kink[0], k, 3);
        mpq_canonicalize(s.pieces.kink[0]);
        mpq_set_ui(s.pieces.coef[0][2], 1, 1);
        mpq_add(s.pieces.coef[1][1], s.pieces.kink[0], s.pieces.kink[0]);
        mpq_set_si(change, off, 1UL << finer);
        mpq_canonicalize(change);
        mpq_add(s.pieces.coef[1][1], s.pieces.coef[1][1], change);
        ck_assert_int_eq(clarke_margin_is_smooth(&s), off == 0);
        mpq_clears(s.pieces.kink[0], change, NULL);
        for (size_t i = 0; i < 2; i++)
          for (size_t c = 0; c < 3; c++)
            mpq_clear(s.pieces.coef[i][c]);
      }
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("margin");

  tcase_add_test(tests, of_kinks);
  tcase_add_test(tests, of_windows);
  tcase_add_test(tests, joined);
  tcase_add_test(tests, kinks_and_sizes);
  tcase_add_test(tests, tangents);
  return run_tests();
}
