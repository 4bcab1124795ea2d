/* Sets of points, hulls, membership and least elements against their definitions. */
#include "brute.h"
#include "exact/hull.h"
#include "exact/wolfe.h"

#include <flint/fmpz.h>

/* n points of small rationals, sometimes in a plane or line. */
static void
draw_points(clarke_points *s, size_t dim, size_t n)
{
  mpq_t *v = new_rationals(dim);
  int flat = draw(0, 3), denominator = draw(1, 3);

  clarke_points_init(s, dim);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < dim; j++) {
      mpq_set_si(v[j], draw(-3, 3), (unsigned long)denominator);
      mpq_canonicalize(v[j]);
    }
    if (flat == 0 && dim >= 2)
      mpq_add(v[dim - 1], v[0], v[1]);
    OK(clarke_points_add(s, v, &error));
  }
  free_rationals(v, dim);
}

START_TEST(sorted_and_distinct)
{
  clarke_points s, t;
  mpq_t *rows = new_rationals(90);

  brute_state = 7;
  clarke_points_init(&s, 3);
  clarke_points_init(&t, 3);
  for (size_t k = 0; k < 90; k++)
    mpq_set_si(rows[k], draw(-1, 1), 1);
  for (size_t i = 0; i < 30; i++)
    OK(clarke_points_add(&s, &rows[3 * i], &error));
  OK(clarke_points_set(&t, 30, rows, &error));
  ck_assert(equal_points(&s, &t));
  ck_assert_uint_lt(s.n, 27 + 1);
  for (size_t i = 0; i + 1 < s.n; i++) {
    size_t j = 0;

    while (mpq_equal(s.entry[3 * i + j], s.entry[3 * i + 3 + j]))
      j++;
    ck_assert_int_lt(mpq_cmp(s.entry[3 * i + j], s.entry[3 * i + 3 + j]), 0);
  }
  for (size_t i = 0; i < 30; i++)
    ck_assert_uint_lt(clarke_points_find(&s, &rows[3 * i]), s.n);
  mpq_set_si(rows[0], 5, 1);
  ck_assert_uint_eq(clarke_points_find(&s, rows), CLARKE_NONE);
  clarke_points_clear(&s);
  clarke_points_clear(&t);
  free_rationals(rows, 90);
}
END_TEST

START_TEST(hulls)
{
  brute_state = 11;
  for (int round = 0; round < 240; round++) {
    clarke_points s, hull, expected;
    bool known;

    draw_points(&s, (size_t)draw(1, 4), (size_t)draw(1, 9));
    clarke_points_init(&hull, 0);
    OK(clarke_points_hull(&hull, &known, &s, &error));
    ck_assert(known);
    brute_vertices(&expected, &s);
    ck_assert_msg(equal_points(&hull, &expected), "round %d", round);
    clarke_points_clear(&s);
    clarke_points_clear(&hull);
    clarke_points_clear(&expected);
  }
}
END_TEST

/* A cube with its faces' points, in more dimensions than it has. */
START_TEST(hull_of_a_grid)
{
  clarke_points s, hull;
  mpq_t *v = new_rationals(5);
  bool known;

  clarke_points_init(&s, 5);
  clarke_points_init(&hull, 0);
  for (int x = 0; x < 81; x++) {
    int t[4] = {x % 3, x / 3 % 3, x / 9 % 3, x / 27};

    for (size_t j = 0; j < 4; j++)
      mpq_set_si(v[j + 1], t[j], 1);
    mpq_set_si(v[0], 1 + t[0] + 2 * t[1] - t[3], 1);
    OK(clarke_points_add(&s, v, &error));
  }
  OK(clarke_points_hull(&hull, &known, &s, &error));
  ck_assert(known);
  ck_assert_uint_eq(s.n, 81);
  ck_assert_uint_eq(hull.n, 16);
  for (size_t i = 0; i < 16; i++)
    for (size_t j = 1; j < 5; j++)
      ck_assert_int_ne(mpq_cmp_si(hull.entry[5 * i + j], 1, 1), 0);
  clarke_points_clear(&s);
  clarke_points_clear(&hull);
  free_rationals(v, 5);
}
END_TEST

/* Weights and separators are checked as such; the answer against the nearest point. */
static void
check_place(const clarke_points *s, mpq_t *v, mpq_t *near)
{
  mpq_t *weight = new_rationals(s->n), *separator = new_rationals(s->dim), at, other, term;
  clarke_hull_place place;

  mpq_inits(at, other, term, NULL);
  OK(clarke_points_place(&place, weight, separator, s, v, &error));
  ck_assert_int_eq(place, equal_vectors(near, v, s->dim) ? CLARKE_HULL_INSIDE
                                                         : CLARKE_HULL_OUTSIDE);
  if (place == CLARKE_HULL_OUTSIDE)
    brute_dot(at, separator, v, s->dim);
  for (size_t i = 0; i < s->n; i++) {
    brute_dot(other, separator, &s->entry[i * s->dim], s->dim);
    ck_assert(place == CLARKE_HULL_INSIDE ? mpq_sgn(weight[i]) >= 0 : mpq_cmp(at, other) > 0);
  }
  for (size_t j = 0; j <= s->dim && place == CLARKE_HULL_INSIDE; j++) {
    mpq_set_ui(at, 0, 1);
    for (size_t i = 0; i < s->n; i++) {
      mpq_set_ui(term, 1, 1);
      mpq_mul(term, weight[i], j < s->dim ? s->entry[i * s->dim + j] : term);
      mpq_add(at, at, term);
    }
    ck_assert(j < s->dim ? mpq_equal(at, v[j]) : mpq_cmp_si(at, 1, 1) == 0);
  }
  mpq_clears(at, other, term, NULL);
  free_rationals(weight, s->n);
  free_rationals(separator, s->dim);
}

START_TEST(places)
{
  int inside = 0;

  brute_state = 13;
  for (int round = 0; round < 300; round++) {
    clarke_points s;
    size_t dim = (size_t)draw(1, 4);
    mpq_t *v = new_rationals(dim), *near = new_rationals(dim);

    draw_points(&s, dim, (size_t)draw(1, 8));
    for (size_t j = 0; j < dim; j++)
      mpq_set_si(v[j], draw(-1, 1), 1);
    if (draw(0, 2) == 0) /* half of the way between two: often on the border */
      for (size_t j = 0; j < dim; j++) {
        mpq_add(v[j], s.entry[j], s.entry[(s.n - 1) * dim + j]);
        mpq_div_2exp(v[j], v[j], 1);
      }
    nearest(near, &s, CLARKE_NONE, v);
    inside += equal_vectors(near, v, dim);
    check_place(&s, v, near);
    clarke_points_clear(&s);
    free_rationals(v, dim);
    free_rationals(near, dim);
  }
  ck_assert_int_gt(inside, 50);
  ck_assert_int_lt(inside, 250);
}
END_TEST

START_TEST(least_elements)
{
  brute_state = 17;
  for (int round = 0; round < 300; round++) {
    clarke_points s;
    size_t dim = (size_t)draw(1, 4);
    mpq_t *zero = new_rationals(dim), *expected = new_rationals(dim), *least = new_rationals(dim);

    draw_points(&s, dim, (size_t)draw(1, 9));
    nearest(expected, &s, CLARKE_NONE, zero);
    OK(clarke_points_least(least, &s, &error));
    ck_assert_msg(equal_vectors(least, expected, dim), "round %d", round);
    clarke_points_clear(&s);
    free_rationals(zero, dim);
    free_rationals(expected, dim);
    free_rationals(least, dim);
  }
}
END_TEST

START_TEST(nothing_and_no_dimension)
{
  clarke_points s, hull;
  clarke_hull_place place;
  mpq_t *one = new_rationals(2);
  bool known;

  clarke_points_init(&s, 2);
  clarke_points_init(&hull, 2);
  OK(clarke_points_hull(&hull, &known, &s, &error));
  ck_assert(known && hull.n == 0);
  OK(clarke_points_place(&place, one, one, &s, one, &error));
  ck_assert_int_eq(place, CLARKE_HULL_OUTSIDE);
  ck_assert_int_ne(clarke_points_least(one, &s, &error), CLARKE_OK);
  clarke_points_init(&s, 0);
  OK(clarke_points_add(&s, one, &error));
  OK(clarke_points_add(&s, one, &error));
  ck_assert_uint_eq(s.n, 1);
  OK(clarke_points_hull(&hull, &known, &s, &error));
  ck_assert(known && hull.n == 1);
  OK(clarke_points_place(&place, one, one, &s, one, &error));
  ck_assert_int_eq(place, CLARKE_HULL_INSIDE);
  OK(clarke_points_least(one, &s, &error));
  clarke_points_clear(&s);
  clarke_points_clear(&hull);
  free_rationals(one, 2);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("points");

  tcase_add_test(tests, sorted_and_distinct);
  tcase_add_test(tests, hulls);
  tcase_add_test(tests, hull_of_a_grid);
  tcase_add_test(tests, places);
  tcase_add_test(tests, least_elements);
  tcase_add_test(tests, nothing_and_no_dimension);
  return run_tests();
}
