/* Rays of cones in two and three dimensions (rays.h). */
#include "region/rays.h"
#include "region/rows.h"
#include "base/verify.h"
#include "exact/upward.h"

#include <flint/fmpq.h>
#include <flint/fmpz.h>
#include <flint/fmpz_vec.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void
clarke_rays_clear(clarke_rays *r)
{
  if (r->ray != NULL)
    _fmpz_vec_clear(r->ray, (slong)(r->n * r->width));
  free(r->unit);
  if (r->owns_bounds)
    free(r->bounds);
  if (r->owns_bounds && r->box != NULL)
    _fmpz_vec_clear(r->box, (slong)(2 * r->width - 1));
  memset(r, 0, sizeof *r);
}

static int
exact_sign(const fmpz *row, const fmpz *ray, size_t width)
{
  fmpz_t sum;
  int sign;

  fmpz_init(sum);
  _fmpz_vec_dot(sum, row, ray, (slong)width);
  sign = fmpz_sgn(sum);
  fmpz_clear(sum);
  return sign;
}

/* The sign of a row on ray i. The product of unit vectors of up to three entries is off by less than 2^-45. */
static int
sign_on(const clarke_rays *r, size_t i, const fmpz *row, const double unit[3])
{
  const double *ray = r->unit + i * r->width;
  const double product = unit[0] * ray[0] + unit[1] * ray[1] + (r->width == 3 ? unit[2] * ray[2] : 0);

  if (fabs(product) > 0x1p-45)
    return product > 0 ? 1 : -1;
  return exact_sign(row, r->ray + i * r->width, r->width);
}

int
clarke_rays_sign(const clarke_rays *r, const fmpz *row)
{
  double unit[3];
  int sign = 0;

  clarke_unit(unit, row, r->width);
  for (size_t i = 0; i < r->n; i++) {
    const int s = sign_on(r, i, row, unit);

    if (s * sign < 0)
      return 0;
    sign = s != 0 ? s : sign;
  }
  CLARKE_ASSERT(sign != 0);
  return sign;
}

/* Each end of the range is a sum of `width` terms, each off by at most 10 * 2^-52 of itself, and so off by less than (width + 10) *
 * 2^-51 times the sum of their sizes; an entry below 2^-900 of the row's largest adds less than 2^-799. */
int
clarke_bounds_sign(const clarke_rays *r, const fmpz *row, double *unit)
{
  const size_t dim = r->width - 1;
  double low, high, size, error;

  clarke_unit(unit, row, r->width);
  low = high = unit[dim];
  size = fabs(unit[dim]);
  for (size_t k = 0; k < dim; k++) {
    const double a = unit[k] * r->bounds[2 * k], b = unit[k] * r->bounds[2 * k + 1];

    low += a < b ? a : b;
    high += a < b ? b : a;
    size += fabs(a) + fabs(b);
  }
  error = clarke_taken(4 * ((double)r->width + 10), size) + 0x1p-700;
  return low > error ? 1 : high < -error ? -1 : 0;
}

int
clarke_box_sign(const clarke_rays *r, const fmpz *row)
{
  const size_t dim = r->width - 1;
  fmpz_t low, high;
  int sign;

  fmpz_init(low);
  fmpz_init(high);
  fmpz_mul(low, row + dim, r->box + 2 * dim);
  fmpz_set(high, low);
  for (size_t k = 0; k < dim; k++) {
    const bool falls = fmpz_sgn(row + k) < 0;

    fmpz_addmul(low, row + k, r->box + 2 * k + falls);
    fmpz_addmul(high, row + k, r->box + 2 * k + !falls);
  }
  sign = fmpz_sgn(low) >= 0 ? 1 : fmpz_sgn(high) <= 0 ? -1 : 0;
  fmpz_clear(low);
  fmpz_clear(high);
  return sign;
}

bool
clarke_rays_bounded_by(const clarke_rays *r, const fmpz *row)
{
  double unit[3];
  size_t zeros = 0;

  clarke_unit(unit, row, r->width);
  for (size_t i = 0; i < r->n; i++)
    zeros += sign_on(r, i, row, unit) == 0;
  return zeros >= r->width - 1;
}

/* --- making ---------------------------------------------------------------------------------- */

static clarke_status
make(clarke_rays *r, size_t width, size_t most, clarke_error *err)
{
  r->width = width;
  r->n = most; /* initialized so many; cut afterwards */
  r->ray = _fmpz_vec_init((slong)(most * width));
  r->unit = malloc(most * width * sizeof *r->unit);
  return r->unit != NULL ? CLARKE_OK : clarke_no_memory(err);
}

static void
finish(clarke_rays *r, size_t n)
{
  fmpz_t content;

  for (size_t i = n * r->width; i < r->n * r->width; i++)
    fmpz_clear(r->ray + i);
  r->n = n;
  fmpz_init(content);
  for (size_t i = 0; i < n; i++) {
    fmpz *ray = r->ray + i * r->width;

    _fmpz_vec_content(content, ray, (slong)r->width);
    _fmpz_vec_scalar_divexact_fmpz(ray, ray, (slong)r->width, content);
    clarke_unit(r->unit + i * r->width, ray, r->width);
  }
  fmpz_clear(content);
}

/* Rows a z_k + b with one variable: that is all of them when each pair bounds one. */
static bool
bounds_variables(const fmpz_mat_t cone)
{
  const slong dim = fmpz_mat_ncols(cone) - 1;

  if (dim < 1 || fmpz_mat_nrows(cone) != 2 * dim)
    return false;
  for (slong i = 0; i < 2 * dim; i++)
    for (slong j = 0; j < dim; j++)
      if (fmpz_sgn(fmpz_mat_entry(cone, i, j)) != (j != i / 2 ? 0 : i % 2 == 0 ? 1 : -1))
        return false;
  return true;
}

/* lower and upper bound of each variable, as doubles beyond them. */
static clarke_status
set_bounds(clarke_rays *r, const fmpz_mat_t cone, clarke_error *err)
{
  const size_t n = (size_t)fmpz_mat_nrows(cone), dim = n / 2;
  fmpq_t q;

  r->width = dim + 1;
  r->bounds = malloc(n * sizeof *r->bounds);
  r->owns_bounds = r->bounds != NULL;
  if (r->bounds == NULL)
    return clarke_no_memory(err);
  fmpq_init(q);
  for (size_t i = 0; i < n; i++) { /* a z + b > 0: z = -b / a is the bound */
    fmpq_set_fmpz_frac(q, fmpz_mat_entry(cone, (slong)i, (slong)dim), fmpz_mat_entry(cone, (slong)i, (slong)(i / 2)));
    fmpq_neg(q, q);
    r->bounds[i] = i % 2 == 0 ? clarke_below(fmpq_get_d(q)) : clarke_above(fmpq_get_d(q));
    if (!(fabs(r->bounds[i]) < 0x1p100)) {
      free(r->bounds);
      r->bounds = NULL;
      r->owns_bounds = false;
      break;
    }
  }
  fmpq_clear(q);
  return CLARKE_OK;
}

/* Row a z + b of the cone bounds z by -b / a; the scale is a common multiple of all a. */
static void
set_box(clarke_rays *r, const fmpz_mat_t cone)
{
  const size_t n = (size_t)fmpz_mat_nrows(cone), dim = n / 2;
  fmpz *scale;

  r->box = _fmpz_vec_init((slong)n + 1);
  scale = r->box + n;
  fmpz_one(scale);
  for (size_t i = 0; i < n; i++)
    fmpz_lcm(scale, scale, fmpz_mat_entry(cone, (slong)i, (slong)(i / 2)));
  for (size_t i = 0; i < n; i++) {
    fmpz_divexact(r->box + i, scale, fmpz_mat_entry(cone, (slong)i, (slong)(i / 2)));
    fmpz_mul(r->box + i, r->box + i, fmpz_mat_entry(cone, (slong)i, (slong)dim));
    fmpz_neg(r->box + i, r->box + i);
  }
}

clarke_status
clarke_rays_of_bounds(clarke_rays *r, const fmpz_mat_t cone, clarke_error *err)
{
  clarke_status status;

  memset(r, 0, sizeof *r);
  if (!bounds_variables(cone))
    return CLARKE_OK;
  status = set_bounds(r, cone, err);
  if (status != CLARKE_OK)
    return status;
  set_box(r, cone);
  r->owns_bounds = true;
  return CLARKE_OK;
}

clarke_status
clarke_rays_of_box(clarke_rays *r, const fmpz_mat_t cone, clarke_error *err)
{
  static const slong corner[4][2] = {{0, 2}, {1, 2}, {1, 3}, {0, 3}}; /* rows that meet there, in order around */
  const size_t dim = (size_t)fmpz_mat_ncols(cone) - 1, n = 2 * dim;
  clarke_status status;

  memset(r, 0, sizeof *r);
  if (!bounds_variables(cone))
    return CLARKE_OK;
  if (dim > 2)
    return set_bounds(r, cone, err);
  status = make(r, dim + 1, n, err);
  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < n; i++) { /* z_k = -b / a: the last entry is the product of the |a| */
    fmpz *ray = r->ray + i * r->width;

    fmpz_one(ray + dim);
    for (size_t k = 0; k < dim; k++)
      fmpz_mul(ray + dim, ray + dim, fmpz_mat_entry(cone, dim == 1 ? (slong)i : corner[i][k], (slong)k));
    for (size_t k = 0; k < dim; k++) {
      const slong row = dim == 1 ? (slong)i : corner[i][k];

      fmpz_divexact(ray + k, ray + dim, fmpz_mat_entry(cone, row, (slong)k));
      fmpz_mul(ray + k, ray + k, fmpz_mat_entry(cone, row, (slong)dim));
      fmpz_neg(ray + k, ray + k);
    }
    if (fmpz_sgn(ray + dim) < 0)
      _fmpz_vec_neg(ray, ray, (slong)r->width);
  }
  finish(r, n);
  return CLARKE_OK;
}

/* to = the ray between u and v on which the row is 0, at u and v having opposite signs. */
static void
meet(fmpz *to, const fmpz *u, const fmpz *v, const fmpz *row, size_t width)
{
  fmpz_t at_u, at_v;

  fmpz_init(at_u);
  fmpz_init(at_v);
  _fmpz_vec_dot(at_u, row, u, (slong)width);
  _fmpz_vec_dot(at_v, row, v, (slong)width);
  fmpz_abs(at_u, at_u);
  fmpz_abs(at_v, at_v);
  _fmpz_vec_scalar_mul_fmpz(to, u, (slong)width, at_v);
  _fmpz_vec_scalar_addmul_fmpz(to, v, (slong)width, at_u);
  fmpz_clear(at_u);
  fmpz_clear(at_v);
}

/* Around the cone (Sutherland and Hodgman, in integers); of two rays there is one way between them only. */
clarke_status
clarke_rays_clip(clarke_rays *r, const clarke_rays *from, const fmpz *row, int turn, clarke_error *err)
{
  const size_t width = from->width;
  double unit[3];
  size_t n = 0;
  clarke_status status = make(r, width, from->n + 2, err);

  if (status != CLARKE_OK)
    return status;
  clarke_unit(unit, row, width);
  for (size_t i = 0; i < from->n; i++) {
    const size_t next = (i + 1) % from->n;
    const int s = turn * sign_on(from, i, row, unit), after = turn * sign_on(from, next, row, unit);

    if (s >= 0)
      _fmpz_vec_set(r->ray + n++ * width, from->ray + i * width, (slong)width);
    if (s * after < 0 && (width == 3 || i == 0))
      meet(r->ray + n++ * width, from->ray + i * width, from->ray + next * width, row, width);
  }
  finish(r, n);
  return CLARKE_OK;
}
