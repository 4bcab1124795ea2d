/* Steps and programs to the other side of a hyperplane (cross.h). */
#include "region/cross.h"
#include "base/stop.h"
#include "exact/cone.h"
#include "exact/mdm.h"

#include <flint/fmpz.h>
#include <flint/fmpz_vec.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

clarke_status
clarke_crossing_init(clarke_crossing *c, const clarke_rows *rows, clarke_error *err)
{
  const size_t n = rows->n + 1, dim = rows->dim;
  clarke_status status;

  memset(c, 0, sizeof *c);
  c->rows = rows;
  status = clarke_widest_init(&c->widest, dim, err);
  c->point = malloc(n * sizeof *c->point);
  c->turned = malloc(n * (dim + 1) * sizeof *c->turned);
  c->span = malloc(CLARKE_SLIDES * (dim + 1) * sizeof *c->span);
  c->direction = malloc((dim + 1) * sizeof *c->direction);
  c->target = malloc((dim + 1) * sizeof *c->target);
  c->member = malloc(n * sizeof *c->member);
  c->turn = malloc(n);
  c->value = _fmpz_vec_init((slong)n);
  if (status == CLARKE_OK && (c->point == NULL || c->turned == NULL || c->span == NULL || c->direction == NULL
                              || c->target == NULL || c->member == NULL || c->turn == NULL))
    status = clarke_no_memory(err);
  return status;
}

void
clarke_crossing_clear(clarke_crossing *c)
{
  if (c->rows == NULL)
    return;
  clarke_widest_clear(&c->widest);
  free(c->point);
  free(c->turned);
  free(c->span);
  free(c->direction);
  free(c->target);
  free(c->member);
  free(c->turn);
  _fmpz_vec_clear(c->value, (slong)c->rows->n + 1);
  memset(c, 0, sizeof *c);
}

/* --- rounding -------------------------------------------------------------------------------- */

/* Has the point the trail's signs, and that one? Exactly. */
static bool
stands(const clarke_rows *rows, const clarke_witness *w, const clarke_trail *t, size_t row, int sign)
{
  if (row != SIZE_MAX && clarke_rows_sign(rows, row, w) != sign)
    return false;
  for (size_t k = t->n; k-- > 0;)
    if (clarke_rows_sign(rows, t->row[k], w) != t->sign[t->row[k]])
      return false;
  return true;
}

/* The least distance of y to a hyperplane, negative on a wrong side. */
static double
margin(const clarke_rows *rows, const double *y, const clarke_trail *t, size_t row, int sign)
{
  double least = row != SIZE_MAX ? sign * clarke_dot(clarke_rows_unit(rows, row), y, rows->dim) : INFINITY;

  for (size_t k = 0; k < t->n; k++) {
    const double m = t->sign[t->row[k]] * clarke_dot(clarke_rows_unit(rows, t->row[k]), y, rows->dim);

    least = m < least ? m : least;
  }
  return least;
}

/* Integers as small as the margin lets them be: rounding moves a point by at most sqrt(dim) / 2. */
static bool
round_to(clarke_witness *to, const clarke_rows *rows, const double *y, const clarke_trail *t, size_t row, int sign)
{
  const double least = margin(rows, y, t, row, sign), safe = sqrt((double)rows->dim) / 2 / least;
  double most = 0;

  if (!(least > 0))
    return false;
  for (size_t j = 0; j < rows->dim; j++)
    most = fabs(y[j]) > most ? fabs(y[j]) : most;
  to->large = false;
  for (double scale = safe / 8; scale < 64 * safe && scale * most < 0x1p52; scale *= 2) {
    clarke_work_spend((t->n + 2) * (rows->dim + 2) / 16);
    for (size_t j = 0; j < rows->dim; j++)
      to->x[j] = rint(scale * y[j]) + 0.0;
    if (stands(rows, to, t, row, sign))
      return true;
  }
  return false;
}

/* --- the step -------------------------------------------------------------------------------- */

/* How far from the witness, whose products are given, along the direction until the first hyperplane on the trail. */
static double
first_hit(size_t *blocker, const clarke_rows *rows, const clarke_trail *t, const double *product, const double *direction)
{
  double most = INFINITY;

  for (size_t k = 0; k < t->n; k++) {
    const size_t i = t->row[k];
    const double rate = -t->sign[i] * clarke_dot(clarke_rows_unit(rows, i), direction, rows->dim);

    if (rate > 1e-12 && t->sign[i] * product[i] < most * rate) {
      most = t->sign[i] * product[i] / rate;
      *blocker = i;
    }
  }
  return most;
}

/* Takes from the direction what leads towards the blocker's hyperplane, and keeps it out. False: nothing is left. */
static bool
slide(clarke_crossing *c, size_t spans, size_t blocker)
{
  const size_t dim = c->rows->dim;
  double *unit = c->span + spans * dim, norm;

  memcpy(unit, clarke_rows_unit(c->rows, blocker), dim * sizeof *unit);
  for (size_t s = 0; s < spans; s++) {
    const double part = clarke_dot(unit, c->span + s * dim, dim);

    for (size_t j = 0; j < dim; j++)
      unit[j] -= part * c->span[s * dim + j];
  }
  norm = sqrt(clarke_dot(unit, unit, dim));
  if (norm < 1e-6)
    return false;
  for (size_t j = 0; j < dim; j++)
    unit[j] /= norm;
  norm = clarke_dot(unit, c->direction, dim);
  for (size_t j = 0; j < dim; j++)
    c->direction[j] -= norm * unit[j];
  return true;
}

bool
clarke_cross_step(clarke_crossing *c, clarke_witness *to, const clarke_trail *t, const double *product, const clarke_witness *w,
                  size_t row, int sign)
{
  const size_t dim = c->rows->dim;
  const double *unit = clarke_rows_unit(c->rows, row), size = sqrt(clarke_dot(w->x, w->x, dim));

  for (size_t j = 0; j < dim; j++)
    c->direction[j] = sign * unit[j];
  for (size_t slides = 0; slides < CLARKE_SLIDES; slides++) {
    const double rate = sign * clarke_dot(unit, c->direction, dim), need = -sign * product[row] / rate;
    size_t blocker = 0;
    double most, part;

    if (!(rate > 1e-9))
      return false;
    clarke_work_spend((t->n + 2) * (dim + 2) / 16);
    most = first_hit(&blocker, c->rows, t, product, c->direction);
    if (most > need * (1 + 1e-9)) {
      part = most > 2 * need + 1 ? need + (need > 1 ? need : 1) / 2 : (need + most) / 2;
      for (size_t j = 0; j < dim; j++)
        c->target[j] = w->x[j] / size + part * c->direction[j];
      return round_to(to, c->rows, c->target, t, row, sign);
    }
    if (!slide(c, slides, blocker))
      return false;
  }
  return false;
}

/* --- the program ----------------------------------------------------------------------------- */

static void
set_points(clarke_crossing *c, size_t *n, const clarke_trail *t, size_t row, int sign)
{
  const size_t dim = c->rows->dim;

  for (size_t k = 0; k < t->n; k++) {
    c->member[k] = t->row[k];
    c->turn[k] = t->sign[t->row[k]];
  }
  *n = t->n;
  if (row != SIZE_MAX) {
    c->member[t->n] = row;
    c->turn[(*n)++] = (signed char)sign;
  }
  for (size_t k = 0; k < *n; k++) {
    const double *unit = clarke_rows_unit(c->rows, c->member[k]);
    double *turned = c->turned + k * dim;

    for (size_t j = 0; j < dim; j++)
      turned[j] = c->turn[k] * unit[j];
    c->point[k] = turned;
  }
}

/* Does point i carry some of the widest direction? Weights that rounding leaves do not count. */
static bool
carries(const clarke_widest *w, size_t i)
{
  for (size_t k = 0; k < w->n_corral; k++)
    if (w->corral[k] == i)
      return w->weight[k] > 1e-9;
  return false;
}

/* The members that carry become the first ones: how many. */
static size_t
keep_corral(clarke_crossing *c, size_t members)
{
  size_t n = 0;

  for (size_t i = 0; i < members; i++)
    if (carries(&c->widest, i)) {
      c->member[n] = c->member[i];
      c->turn[n++] = c->turn[i];
    }
  return n;
}

/* The cone in integers, when floats see no margin. */
static clarke_status
decide_exactly(clarke_cross_kind *kind, clarke_witness *to, size_t *n, clarke_crossing *c, size_t members, clarke_error *err)
{
  clarke_cone cone;
  fmpz_mat_t a;
  clarke_status status;

  c->exact++;
  fmpz_mat_init(a, (slong)members, (slong)c->rows->dim);
  clarke_cone_init(&cone);
  for (size_t k = 0; k < members; k++)
    for (size_t j = 0; j < c->rows->dim; j++)
      fmpz_mul_si(fmpz_mat_entry(a, (slong)k, (slong)j), fmpz_mat_entry(c->rows->exact, (slong)c->member[k], (slong)j), c->turn[k]);
  status = clarke_cone_solve_few(&cone, a, (slong)members - 1, CLARKE_CONE_LITTLE_WORK, err); /* the row to be crossed is last */
  *kind = CLARKE_CROSS_UNKNOWN;
  if (status == CLARKE_OK && cone.answer == CLARKE_CONE_FEASIBLE) {
    *kind = CLARKE_CROSS_POINT;
    clarke_witness_set_exact(to, cone.d);
  } else if (status == CLARKE_OK && cone.answer == CLARKE_CONE_EMPTY) {
    *kind = CLARKE_CROSS_CIRCUIT;
    *n = 0;
    for (size_t k = 0; k < members; k++)
      if (!fmpz_is_zero(fmpz_mat_entry(cone.u, (slong)k, 0))) {
        c->member[*n] = c->member[k];
        fmpz_mul_si(c->value + (*n)++, fmpz_mat_entry(cone.u, (slong)k, 0), c->turn[k]);
      }
  }
  clarke_cone_clear(&cone);
  fmpz_mat_clear(a);
  return status;
}

clarke_status
clarke_cross_program(clarke_cross_kind *kind, clarke_witness *to, size_t *n, clarke_crossing *c, const clarke_trail *t,
                     size_t row, int sign, clarke_error *err)
{
  size_t members;

  c->programs++;
  set_points(c, &members, t, row, sign);
  clarke_widest_find(&c->widest, c->point, members);
  if (c->widest.apart && round_to(to, c->rows, c->widest.x, t, row, sign)) {
    *kind = CLARKE_CROSS_POINT;
    return CLARKE_OK;
  }
  if (!c->widest.apart) {
    *n = keep_corral(c, members);
    if (clarke_circuit_of(c->value, c->rows, c->member, c->turn, *n)) {
      *kind = CLARKE_CROSS_CIRCUIT;
      return CLARKE_OK;
    }
    set_points(c, &members, t, row, sign);
  }
  return decide_exactly(kind, to, n, c, members, err);
}
