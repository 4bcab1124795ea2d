/* Polygons that are cut again and again: signs on rays against signs at points inside, and corners against the rows that made them. */
#include "region/rays.h"
#include "../draw.h"
#include "../ok.h"

#include <flint/fmpz_vec.h>

/* The cone of the box low_k < z_k < high_k, all over den. */
static void
box(fmpz_mat_t cone, size_t dim, long low, long high, long den)
{
  fmpz_mat_init(cone, (slong)(2 * dim), (slong)dim + 1);
  for (size_t k = 0; k < dim; k++) {
    fmpz_set_si(fmpz_mat_entry(cone, (slong)(2 * k), (slong)k), den);
    fmpz_set_si(fmpz_mat_entry(cone, (slong)(2 * k), (slong)dim), -low);
    fmpz_set_si(fmpz_mat_entry(cone, (slong)(2 * k + 1), (slong)k), -den);
    fmpz_set_si(fmpz_mat_entry(cone, (slong)(2 * k + 1), (slong)dim), high);
  }
}

static int
sign_at(const fmpz *row, const fmpz *point, size_t width)
{
  fmpz_t product;
  int sign;

  fmpz_init(product);
  _fmpz_vec_dot(product, row, point, (slong)width);
  sign = fmpz_sgn(product);
  fmpz_clear(product);
  return sign;
}

/* A sum of positive multiples of all rays: inside. */
static void
draw_inside(fmpz *point, const clarke_rays *r, uint64_t *state)
{
  _fmpz_vec_zero(point, (slong)r->width);
  for (size_t i = 0; i < r->n; i++)
    _fmpz_vec_scalar_addmul_si(point, r->ray + i * r->width, (slong)r->width, draw_between(state, 1, 1000));
}

/* Has the row, by all rays one after another, both signs? */
static bool
crosses(const clarke_rays *r, const fmpz *row)
{
  bool above = false, below = false;

  for (size_t i = 0; i < r->n; i++) {
    above = above || sign_at(row, r->ray + i * r->width, r->width) > 0;
    below = below || sign_at(row, r->ray + i * r->width, r->width) < 0;
  }
  return above && below;
}

static void
check_row(const clarke_rays *r, const fmpz *row, uint64_t *state)
{
  fmpz *point = _fmpz_vec_init((slong)r->width);
  const int sign = clarke_rays_sign(r, row);

  ck_assert_int_eq(sign == 0, crosses(r, row));
  for (int n = 0; n < 4 && sign != 0; n++) {
    draw_inside(point, r, state);
    ck_assert_int_eq(sign_at(row, point, r->width), sign);
  }
  _fmpz_vec_clear(point, (slong)r->width);
}

/* All of `cut` is in `whole`, and on the row's side; what was cut through has the row as a facet. */
static void
check_cut(const clarke_rays *cut, const clarke_rays *whole, const fmpz *row, int turn, const fmpz_mat_t cone)
{
  ck_assert_uint_ge(cut->n, cut->width == 2 ? 2 : 3);
  ck_assert_uint_le(cut->n, whole->n + 1);
  ck_assert(clarke_rays_bounded_by(cut, row));
  ck_assert_int_eq(clarke_rays_sign(cut, row), turn);
  for (size_t i = 0; i < cut->n; i++) {
    ck_assert_int_ge(turn * sign_at(row, cut->ray + i * cut->width, cut->width), 0);
    for (slong k = 0; k < fmpz_mat_nrows(cone); k++)
      ck_assert_int_ge(sign_at(cone->rows[k], cut->ray + i * cut->width, cut->width), 0);
  }
}

START_TEST(cuts_of_a_box)
{
  uint64_t state = 1;
  size_t cuts = 0;

  for (int round = 0; round < 200; round++) {
    const size_t dim = 1 + draw_below(&state, 2), width = dim + 1;
    fmpz *row = _fmpz_vec_init((slong)width);
    clarke_rays r, part;
    fmpz_mat_t cone;

    box(cone, dim, -draw_between(&state, 1, 9), draw_between(&state, 1, 9), draw_between(&state, 1, 5));
    OK(clarke_rays_of_box(&r, cone, &error));
    ck_assert_uint_eq(r.n, 2 * dim);
    for (slong k = 0; k < fmpz_mat_nrows(cone); k++)
      ck_assert(clarke_rays_bounded_by(&r, cone->rows[k]));
    for (int cut = 0; cut < 12; cut++) {
      const int turn = draw_below(&state, 2) == 0 ? 1 : -1;

      for (size_t k = 0; k < width; k++)
        fmpz_set_si(row + k, draw_between(&state, -20, 20));
      if (_fmpz_vec_is_zero(row, (slong)width))
        continue;
      check_row(&r, row, &state);
      if (clarke_rays_sign(&r, row) != 0)
        continue;
      part = (clarke_rays){0};
      OK(clarke_rays_clip(&part, &r, row, turn, &error));
      check_cut(&part, &r, row, turn, cone);
      clarke_rays_clear(&r);
      r = part;
      cuts++;
    }
    clarke_rays_clear(&r);
    fmpz_mat_clear(cone);
    _fmpz_vec_clear(row, (slong)width);
  }
  ck_assert_uint_gt(cuts, 300);
}
END_TEST

/* Of more variables there are bounds alone, and a sign by them is right where it is not 0. */
START_TEST(bounds_of_a_box)
{
  uint64_t state = 2;
  size_t known = 0;
  clarke_rays r;
  fmpz_mat_t cone;
  double unit[5];
  fmpz *row = _fmpz_vec_init(5);

  box(cone, 4, -1, 2, 3);
  OK(clarke_rays_of_box(&r, cone, &error));
  ck_assert_uint_eq(r.n, 0);
  for (int round = 0; round < 500; round++) {
    long least, most;
    int sign;

    for (size_t k = 0; k < 5; k++)
      fmpz_set_si(row + k, draw_between(&state, -9, 9) * (k == 4 ? 3 : 1));
    least = most = 3 * fmpz_get_si(row + 4); /* 3 times the row's range, z_k being in [-1/3, 2/3] */
    for (size_t k = 0; k < 4; k++) {
      const long a = fmpz_get_si(row + k);

      least += a > 0 ? -a : 2 * a;
      most += a > 0 ? 2 * a : -a;
    }
    sign = clarke_bounds_sign(&r, row, unit);
    if (least > 0 || most < 0)
      ck_assert_int_eq(sign, least > 0 ? 1 : -1);
    else
      ck_assert_int_eq(sign, 0);
    known += sign != 0;
  }
  ck_assert_uint_gt(known, 100);
  ck_assert_uint_lt(known, 400);
  clarke_rays_clear(&r);
  fmpz_mat_clear(cone);
  _fmpz_vec_clear(row, 5);
}
END_TEST

/* By the exact bounds alone: a row that is 0 at most at corners keeps its sign inside. Doubles, where they say something, agree. */
START_TEST(exact_bounds)
{
  uint64_t state = 3;
  size_t at_corner = 0;
  double unit[5];

  for (int round = 0; round < 1000; round++) {
    const size_t dim = 1 + draw_below(&state, 4);
    const long low = draw_between(&state, -3, 0), high = draw_between(&state, 1, 3), den = draw_between(&state, 1, 3);
    fmpz *row = _fmpz_vec_init(5);
    clarke_rays r;
    fmpz_mat_t cone;
    long least, most;
    int sign;

    box(cone, dim, low, high, den);
    OK(clarke_rays_of_bounds(&r, cone, &error));
    for (size_t k = 0; k <= dim; k++)
      fmpz_set_si(row + k, draw_between(&state, -4, 4));
    if (_fmpz_vec_is_zero(row, (slong)dim))
      fmpz_one(row);
    least = most = den * fmpz_get_si(row + dim); /* den times the row's range */
    for (size_t k = 0; k < dim; k++) {
      const long a = fmpz_get_si(row + k);

      least += a > 0 ? a * low : a * high;
      most += a > 0 ? a * high : a * low;
    }
    sign = clarke_box_sign(&r, row);
    ck_assert_int_eq(sign, least >= 0 ? 1 : most <= 0 ? -1 : 0);
    ck_assert(clarke_bounds_sign(&r, row, unit) == 0 || clarke_bounds_sign(&r, row, unit) == sign);
    at_corner += least == 0 || most == 0;
    clarke_rays_clear(&r);
    clarke_rays_clear(&r);
    fmpz_mat_clear(cone);
    _fmpz_vec_clear(row, 5);
  }
  ck_assert_uint_gt(at_corner, 50);
}
END_TEST

/* Bounds past doubles are kept exactly alone. */
START_TEST(bounds_past_doubles)
{
  fmpz *row = _fmpz_vec_init(2);
  clarke_rays r;
  fmpz_mat_t cone;

  box(cone, 1, -1, 1, 1);
  fmpz_mul_2exp(fmpz_mat_entry(cone, 1, 1), fmpz_mat_entry(cone, 1, 1), 200);
  OK(clarke_rays_of_bounds(&r, cone, &error));
  ck_assert(r.bounds == NULL && r.box != NULL);
  fmpz_set_si(row, -1);
  fmpz_one(row + 1);
  fmpz_mul_2exp(row + 1, row + 1, 200);
  ck_assert_int_eq(clarke_box_sign(&r, row), 1); /* 2^200 - z > 0 */
  fmpz_sub_ui(row + 1, row + 1, 1);
  ck_assert_int_eq(clarke_box_sign(&r, row), 0);
  clarke_rays_clear(&r);
  fmpz_mat_clear(cone);
  _fmpz_vec_clear(row, 2);
}
END_TEST

/* Signs that doubles cannot tell: at N/D the rows are 0, or off by 1 and 2 of some 2^180. */
START_TEST(signs_by_integers)
{
  static const struct {
    long a, b; /* added to 2^90 and -2^90 */
    int sign;
  } row[] = {{1, 0, 1}, {0, 1, 1}, {2, -1, 0}, {3, -2, 0}, {-1, 1, -1}, {-2, 1, -1}};
  fmpz *r = _fmpz_vec_init(2);
  clarke_rays rays;
  fmpz_mat_t cone;

  fmpz_mat_init(cone, 2, 2); /* N/D < z < 1, N = 2^90, D = 2^90 + 1 */
  fmpz_one(fmpz_mat_entry(cone, 0, 0));
  fmpz_mul_2exp(fmpz_mat_entry(cone, 0, 0), fmpz_mat_entry(cone, 0, 0), 90);
  fmpz_neg(fmpz_mat_entry(cone, 0, 1), fmpz_mat_entry(cone, 0, 0));
  fmpz_add_ui(fmpz_mat_entry(cone, 0, 0), fmpz_mat_entry(cone, 0, 0), 1);
  fmpz_set_si(fmpz_mat_entry(cone, 1, 0), -1);
  fmpz_one(fmpz_mat_entry(cone, 1, 1));
  OK(clarke_rays_of_box(&rays, cone, &error));
  for (size_t k = 0; k < sizeof row / sizeof row[0]; k++) {
    fmpz_one(r);
    fmpz_mul_2exp(r, r, 90);
    fmpz_neg(r + 1, r);
    fmpz_add_si(r, r, row[k].a);
    fmpz_add_si(r + 1, r + 1, row[k].b);
    ck_assert_msg(clarke_rays_sign(&rays, r) == row[k].sign, "row %zu", k);
  }
  clarke_rays_clear(&rays);
  fmpz_mat_clear(cone);
  _fmpz_vec_clear(r, 2);
}
END_TEST

/* A cone that is no box: nothing is known, and nothing is said. */
START_TEST(no_box)
{
  clarke_rays r;
  fmpz_mat_t cone;

  box(cone, 2, -1, 1, 1);
  fmpz_one(fmpz_mat_entry(cone, 0, 1));
  OK(clarke_rays_of_box(&r, cone, &error));
  ck_assert(r.n == 0 && r.bounds == NULL);
  clarke_rays_clear(&r);
  OK(clarke_rays_of_bounds(&r, cone, &error));
  ck_assert(r.bounds == NULL && r.box == NULL);
  clarke_rays_clear(&r);
  fmpz_mat_clear(cone);
}
END_TEST

int
main(void)
{
  int failed;
  TCase *tests = tests_of("rays");

  tcase_add_test(tests, cuts_of_a_box);
  tcase_add_test(tests, bounds_of_a_box);
  tcase_add_test(tests, exact_bounds);
  tcase_add_test(tests, bounds_past_doubles);
  tcase_add_test(tests, signs_by_integers);
  tcase_add_test(tests, no_box);
  failed = run_tests();
  flint_cleanup_master();
  return failed;
}
