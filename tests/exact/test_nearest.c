/* The point of a hull nearest to the origin, in floats, beside its definition over all subsets in rationals. */
#include "brute.h"

#include "exact/mdm.h"

#include <math.h>

enum { MOST_POINTS = 7 };

/* The exact point and a guess, of the same points. */
typedef struct {
  size_t n, dim;
  double point[MOST_POINTS * 3], x[3], best[3];
  bool outside;
} question;

static void
draw_points(question *q, int most)
{
  q->dim = (size_t)draw(1, 3);
  q->n = (size_t)draw(1, MOST_POINTS);
  for (size_t i = 0; i < q->n; i++)
    for (size_t j = 0; j < q->dim; j++)
      q->point[i * q->dim + j] = i > 0 && draw(0, 7) == 0 ? q->point[(i - 1) * q->dim + j] : draw(-most, most);
}

/* Away from the origin. */
static void
shift_points(question *q, int most)
{
  int by[3] = {draw(-most, most), draw(-most, most), draw(-most, most)};

  for (size_t i = 0; i < q->n; i++)
    for (size_t j = 0; j < q->dim; j++)
      q->point[i * q->dim + j] += by[j];
}

static void
answer(question *q)
{
  clarke_points s;
  mpq_t *entry = new_rationals(3), *best = new_rationals(3), *origin = new_rationals(3);

  clarke_points_init(&s, q->dim);
  for (size_t i = 0; i < q->n; i++) {
    for (size_t j = 0; j < q->dim; j++)
      mpq_set_d(entry[j], q->point[i * q->dim + j]);
    OK(clarke_points_add(&s, entry, &error));
  }
  nearest(best, &s, CLARKE_NONE, origin);
  for (size_t j = 0; j < q->dim; j++)
    q->best[j] = mpq_get_d(best[j]);
  OK(clarke_nearest(&q->outside, q->x, q->point, q->n, q->dim, &error));
  clarke_points_clear(&s);
  free_rationals(entry, 3);
  free_rationals(best, 3);
  free_rationals(origin, 3);
}

static double
square(const double *x, size_t n)
{
  double sum = 0;

  for (size_t j = 0; j < n; j++)
    sum += x[j] * x[j];
  return sum;
}

/* The method ends when all products are at least 99/100 of x's square: then x is within a seventh of its length
 * of the nearest point. */
START_TEST(points_are_the_nearest)
{
  size_t outside = 0, inside = 0;

  brute_state = 3;
  for (size_t i = 0; i < 4000; i++) {
    question q = {.n = 0};
    double gap[3];

    draw_points(&q, 4);
    if (i % 3 > 0)
      shift_points(&q, 6);
    answer(&q);
    for (size_t j = 0; j < q.dim; j++)
      gap[j] = q.x[j] - q.best[j];
    if (square(q.best, q.dim) == 0) {
      inside++;
      ck_assert_msg(!q.outside, "the origin is in the hull");
      ck_assert(square(q.x, q.dim) < 1e-6);
    } else {
      outside++;
      ck_assert_msg(q.outside, "the origin is outside");
      ck_assert(square(gap, q.dim) <= 0.0201 * square(q.x, q.dim));
      ck_assert(square(q.x, q.dim) >= square(q.best, q.dim) * (1 - 1e-9));
    }
  }
  ck_assert_uint_gt(outside, 1000);
  ck_assert_uint_gt(inside, 500);
}
END_TEST

START_TEST(few_points)
{
  const double zeros[6] = {0}, two[4] = {3, -4, 3, -4}, opposite[4] = {1, 2, -1, -2};
  double x[3] = {7, 7, 7};
  bool outside;

  OK(clarke_nearest(&outside, x, two, 1, 2, &error));
  ck_assert(outside && x[0] == 3 && x[1] == -4);
  OK(clarke_nearest(&outside, x, two, 2, 2, &error));
  ck_assert(outside && x[0] == 3 && x[1] == -4);
  OK(clarke_nearest(&outside, x, zeros, 1, 3, &error));
  ck_assert(!outside && square(x, 3) == 0);
  OK(clarke_nearest(&outside, x, zeros, 2, 3, &error));
  ck_assert(!outside && square(x, 3) == 0);
  OK(clarke_nearest(&outside, x, opposite, 2, 2, &error));
  ck_assert(!outside);
  OK(clarke_nearest(&outside, x, two, 2, 0, &error));
  ck_assert(!outside);
  OK(clarke_nearest(&outside, x, NULL, 0, 3, &error));
  ck_assert(!outside && square(x, 3) == 0);
}
END_TEST

int
main(void)
{
  TCase *c = tests_of("nearest");

  tcase_add_test(c, points_are_the_nearest);
  tcase_add_test(c, few_points);
  return run_tests();
}
