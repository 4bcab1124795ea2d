/* The point of least norm of a hull in floats, beside all segments of the plane, and beside what it promises in more dimensions. */
#include "region/widest.h"
#include "../draw.h"
#include "../ok.h"
#include "../suites.h"

#include <math.h>

enum { DIM = 4, POINTS = 9 };

static double
dot(const double *a, const double *b, size_t n)
{
  double sum = 0;

  for (size_t j = 0; j < n; j++)
    sum += a[j] * b[j];
  return sum;
}

static void
draw_unit(double *p, size_t dim, uint64_t *state)
{
  double norm = 0;

  for (size_t j = 0; j < dim; j++) {
    p[j] = (double)draw_between(state, -100, 100);
    norm += p[j] * p[j];
  }
  if (norm == 0)
    p[0] = norm = 1;
  for (size_t j = 0; j < dim; j++)
    p[j] /= sqrt(norm);
}

/* x is what its corral says: a convex combination. */
static void
check_weights(const clarke_widest *w, const double *const *point, size_t n)
{
  double sum = 0, x[DIM] = {0};

  ck_assert_uint_ge(w->n_corral, 1);
  for (size_t k = 0; k < w->n_corral; k++) {
    ck_assert_uint_lt(w->corral[k], n);
    ck_assert(w->weight[k] >= 0);
    for (size_t l = 0; l < k; l++)
      ck_assert_uint_ne(w->corral[k], w->corral[l]);
    sum += w->weight[k];
    for (size_t j = 0; j < w->dim; j++)
      x[j] += w->weight[k] * point[w->corral[k]][j];
  }
  ck_assert_double_eq_tol(sum, 1, 1e-9);
  for (size_t j = 0; j < w->dim; j++)
    ck_assert_double_eq_tol(x[j], w->x[j], 1e-9);
}

/* The least norm of points and segments between two of them: in the plane that of the hull, unless 0 is inside. */
static double
least_of_segments(const double *const *point, size_t n)
{
  double least = INFINITY;

  for (size_t a = 0; a < n; a++)
    for (size_t b = 0; b <= a; b++) {
      const double gap[2] = {point[b][0] - point[a][0], point[b][1] - point[a][1]}, square = dot(gap, gap, 2);
      double part = square > 0 ? -dot(point[a], gap, 2) / square : 0, at[2];

      part = part < 0 ? 0 : part > 1 ? 1 : part;
      for (size_t j = 0; j < 2; j++)
        at[j] = point[a][j] + part * gap[j];
      least = fmin(least, sqrt(dot(at, at, 2)));
    }
  return least;
}

/* Does 0 lie in the hull of points of the plane? Their directions then leave no gap over half a turn. */
static bool
around_zero(const double *const *point, size_t n)
{
  for (size_t a = 0; a < n; a++)
    for (int turn = -1; turn <= 1; turn += 2) {
      const double normal[2] = {-turn * point[a][1], turn * point[a][0]};
      bool apart = true;

      for (size_t b = 0; b < n && apart; b++)
        apart = dot(normal, point[b], 2) >= -1e-12 && !(dot(point[a], point[b], 2) < 0 && fabs(dot(normal, point[b], 2)) < 1e-12);
      if (apart)
        return false;
    }
  return true;
}

static void
check(size_t dim, size_t n, uint64_t *state)
{
  double all[POINTS * DIM];
  const double *point[POINTS];
  clarke_widest w;
  double norm;

  OK(clarke_widest_init(&w, dim, &error));
  for (size_t i = 0; i < n; i++) {
    draw_unit(all + i * dim, dim, state);
    point[i] = all + i * dim;
  }
  clarke_widest_find(&w, point, n);
  check_weights(&w, point, n);
  norm = dot(w.x, w.x, dim);
  for (size_t i = 0; i < n && w.apart; i++)
    ck_assert(dot(w.x, point[i], dim) > 0.6 * norm);
  if (!w.apart)
    ck_assert_double_lt(norm, 1e-12);
  if (dim == 2) {
    ck_assert_int_eq(w.apart, !around_zero(point, n));
    if (w.apart)
      ck_assert(sqrt(norm) >= least_of_segments(point, n) - 1e-9 && sqrt(norm) * 0.69 < least_of_segments(point, n));
  }
  clarke_widest_clear(&w);
  clarke_widest_clear(&w);
}

START_TEST(of_hulls)
{
  uint64_t state = 5;

  for (int round = 0; round < 2000; round++)
    check(1 + draw_below(&state, DIM), 1 + draw_below(&state, POINTS), &state);
}
END_TEST

/* Opposite points carry half of 0 each; a third does not. A space is used again. */
START_TEST(least_support)
{
  static const double right[2] = {1, 0}, left[2] = {-1, 0}, up[2] = {0, 1};
  const double *const opposite[] = {up, right, left}, *const corner[] = {right, up};
  clarke_widest w;

  OK(clarke_widest_init(&w, 2, &error));
  clarke_widest_find(&w, opposite, 3);
  ck_assert(!w.apart);
  for (size_t k = 0; k < w.n_corral; k++)
    ck_assert_double_eq_tol(w.weight[k], w.corral[k] == 0 ? 0 : 0.5, 1e-9);
  clarke_widest_find(&w, corner, 2);
  ck_assert(w.apart);
  ck_assert_double_eq_tol(w.x[0], 0.5, 1e-12);
  ck_assert_double_eq_tol(w.x[1], 0.5, 1e-12);
  clarke_widest_find(&w, corner, 1);
  ck_assert(w.apart && w.n_corral == 1 && w.x[0] == 1 && w.x[1] == 0);
  clarke_widest_clear(&w);
}
END_TEST

/* Two lines that nearly are one: of all narrow cones the one between them is seen. */
START_TEST(narrow)
{
  for (int bits = 1; bits <= 23; bits++) {
    const double t = ldexp(1, -bits), size = sqrt(1 + t * t);
    const double below[2] = {-t / size, 1 / size}, above[2] = {2 * t / sqrt(1 + 4 * t * t), -1 / sqrt(1 + 4 * t * t)};
    const double *const lines[] = {below, above};
    clarke_widest w;

    OK(clarke_widest_init(&w, 2, &error));
    clarke_widest_find(&w, lines, 2);
    ck_assert(w.apart && dot(w.x, below, 2) > 0 && dot(w.x, above, 2) > 0);
    clarke_widest_clear(&w);
  }
}
END_TEST

MODULE(widest)
{
  TCase *tests = tests_of("widest");

  tcase_add_test(tests, of_hulls);
  tcase_add_test(tests, least_support);
  tcase_add_test(tests, narrow);
  return all_tests;
}
