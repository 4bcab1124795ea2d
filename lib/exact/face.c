/* Faces of an arrangement (face.h). */
#include "exact/face.h"

#include "base/room.h"
#include "exact/face_side.h"

#include "exact/number.h"
#include "exact/cone.h"
#include "exact/wolfe.h"

#include <flint/fmpz.h>
#include <stdlib.h>
#include <string.h>

/* --- forms ------------------------------------------------------------------------------------ */

/* y -= a x, n entries. */
static void
subtract(mpq_t *y, const mpq_t a, mpq_t *x, size_t n)
{
  mpq_t term;

  mpq_init(term);
  for (size_t j = 0; j < n; j++) {
    if (mpq_sgn(x[j]) == 0)
      continue;
    mpq_mul(term, a, x[j]);
    mpq_sub(y[j], y[j], term);
  }
  mpq_clear(term);
}

void
clarke_face_reduce(mpq_t *reduced, const clarke_face *f, mpq_t *form)
{
  size_t width = f->dim + 1;
  mpq_t a;

  mpq_init(a);
  if (reduced != form)
    for (size_t j = 0; j < width; j++)
      mpq_set(reduced[j], form[j]);
  for (size_t i = 0; i < f->n_equal; i++) {
    mpq_set(a, reduced[f->pivot[i]]);
    if (mpq_sgn(a) != 0)
      subtract(reduced, a, &f->equal[i * width], width);
  }
  mpq_clear(a);
}

bool
clarke_form_constant(mpq_t *reduced, size_t dim)
{
  for (size_t j = 0; j < dim; j++)
    if (mpq_sgn(reduced[j]) != 0)
      return false;
  return true;
}

void
clarke_form_value(mpq_t value, mpq_t *form, mpq_t *point, size_t dim)
{
  mpq_t term;

  mpq_init(term);
  mpq_set(value, form[dim]);
  for (size_t j = 0; j < dim; j++) {
    if (mpq_sgn(form[j]) == 0)
      continue;
    mpq_mul(term, form[j], point[j]);
    mpq_add(value, value, term);
  }
  mpq_clear(term);
}

/* --- faces ------------------------------------------------------------------------------------ */

void
clarke_face_clear(clarke_face *f)
{
  size_t width = f->dim + 1;

  clarke_rationals_free(f->equal, f->n_equal * width);
  clarke_rationals_free(f->strict, f->n_strict * width);
  clarke_rationals_free(f->point, f->point != NULL ? f->dim : 0);
  free(f->pivot);
  free(f->sign);
  memset(f, 0, sizeof *f);
}

static mpq_t *
copy_rationals(mpq_t *from, size_t n)
{
  mpq_t *to = clarke_rationals(n);

  for (size_t k = 0; to != NULL && k < n; k++)
    mpq_set(to[k], from[k]);
  return to;
}

static clarke_status
whole_space(clarke_face *f, size_t dim, mpq_t *point, clarke_error *err)
{
  memset(f, 0, sizeof *f);
  f->dim = dim;
  f->point = copy_rationals(point, dim);
  return f->point != NULL ? CLARKE_OK : clarke_no_memory(err);
}

/* A copy of f with another point. */
static clarke_status
copy_face(clarke_face *to, const clarke_face *f, mpq_t *point, clarke_error *err)
{
  size_t width = f->dim + 1;
  clarke_status status = whole_space(to, f->dim, point, err);

  if (status != CLARKE_OK)
    return status;
  to->equal = copy_rationals(f->equal, f->n_equal * width);
  to->n_equal = to->equal != NULL ? f->n_equal : 0;
  to->strict = copy_rationals(f->strict, f->n_strict * width);
  to->n_strict = to->strict != NULL ? f->n_strict : 0;
  to->pivot = malloc((f->n_equal + 1) * sizeof *to->pivot);
  to->sign = malloc(f->n_signs + 1);
  if (to->equal == NULL || to->strict == NULL || to->pivot == NULL || to->sign == NULL)
    return clarke_no_memory(err);
  if (f->n_equal > 0)
    memcpy(to->pivot, f->pivot, f->n_equal * sizeof *to->pivot);
  if (f->n_signs > 0)
    memcpy(to->sign, f->sign, f->n_signs);
  to->n_signs = f->n_signs;
  to->capacity = f->n_signs + 1;
  return CLARKE_OK;
}

static clarke_status
record_sign(clarke_face *f, int sign, clarke_error *err)
{
  if (!clarke_room(&f->sign, &f->capacity, f->n_signs + 1, sizeof *f->sign))
    return clarke_no_memory(err);
  f->sign[f->n_signs++] = (int8_t)sign;
  f->next = f->n_signs;
  return CLARKE_OK;
}

static clarke_status
append_form(mpq_t **forms, size_t *n, size_t width, mpq_t *form, clarke_error *err)
{
  mpq_t *grown = realloc(*forms, (*n + 1) * width * sizeof *grown);

  if (grown == NULL)
    return clarke_no_memory(err);
  *forms = grown;
  for (size_t j = 0; j < width; j++) {
    mpq_init(grown[*n * width + j]);
    mpq_set(grown[*n * width + j], form[j]);
  }
  ++*n;
  return CLARKE_OK;
}

static void
negate(mpq_t *form, size_t width)
{
  for (size_t j = 0; j < width; j++)
    mpq_neg(form[j], form[j]);
}

static size_t
first_free(mpq_t *reduced, size_t dim)
{
  size_t j = 0;

  while (j < dim && mpq_sgn(reduced[j]) == 0)
    j++;
  return j;
}

/* Clears column j of n forms by a form with 1 there. */
static void
eliminate(mpq_t *forms, size_t n, mpq_t *form, size_t j, size_t width)
{
  mpq_t a;

  mpq_init(a);
  for (size_t i = 0; i < n; i++) {
    mpq_set(a, forms[i * width + j]);
    if (mpq_sgn(a) != 0)
      subtract(&forms[i * width], a, form, width);
  }
  mpq_clear(a);
}

/* reduced = 0 on f from now on. */
static clarke_status
add_equality(clarke_face *f, mpq_t *reduced, clarke_error *err)
{
  size_t width = f->dim + 1, j = first_free(reduced, f->dim);
  size_t *grown = realloc(f->pivot, (f->n_equal + 1) * sizeof *grown);
  mpq_t *form, a;
  clarke_status status;

  if (grown == NULL)
    return clarke_no_memory(err);
  f->pivot = grown;
  f->pivot[f->n_equal] = j;
  status = append_form(&f->equal, &f->n_equal, width, reduced, err);
  if (status != CLARKE_OK)
    return status;
  form = &f->equal[(f->n_equal - 1) * width];
  mpq_init(a);
  mpq_set(a, form[j]);
  for (size_t k = 0; k < width; k++)
    mpq_div(form[k], form[k], a);
  mpq_clear(a);
  eliminate(f->equal, f->n_equal - 1, form, j, width);
  eliminate(f->strict, f->n_strict, form, j, width);
  return CLARKE_OK;
}

/* reduced has that sign on f from now on. */
static clarke_status
restrict_face(clarke_face *f, mpq_t *reduced, int sign, clarke_error *err)
{
  size_t width = f->dim + 1;
  clarke_status status = record_sign(f, sign, err);

  if (status != CLARKE_OK)
    return status;
  if (sign == 0)
    return add_equality(f, reduced, err);
  status = append_form(&f->strict, &f->n_strict, width, reduced, err);
  if (status == CLARKE_OK && sign < 0)
    negate(&f->strict[(f->n_strict - 1) * width], width);
  return status;
}

/* --- the stack -------------------------------------------------------------------------------- */

void
clarke_faces_init(clarke_faces *s)
{
  memset(s, 0, sizeof *s);
}

void
clarke_faces_clear(clarke_faces *s)
{
  for (size_t k = 0; k < s->n; k++)
    clarke_face_clear(&s->face[k]);
  free(s->face);
  clarke_faces_init(s);
}

static size_t
entries_of(const clarke_face *f)
{
  return (f->n_equal + f->n_strict + 1) * (f->dim + 1) + f->n_signs / sizeof(mpq_t);
}

bool
clarke_faces_pop(clarke_face *f, clarke_faces *s)
{
  if (s->n == 0)
    return false;
  *f = s->face[--s->n];
  s->entries -= entries_of(f);
  return true;
}

static clarke_status
push(clarke_faces *s, const clarke_face *f, clarke_error *err)
{
  if (!clarke_room(&s->face, &s->capacity, s->n + 1, sizeof *s->face))
    return clarke_no_memory(err);
  s->face[s->n++] = *f;
  s->entries += entries_of(f);
  s->open = s->open || s->entries > CLARKE_FACE_ENTRIES;
  return CLARKE_OK;
}

clarke_status
clarke_faces_begin(clarke_faces *s, size_t dim, mpq_t *point, clarke_error *err)
{
  clarke_face whole;
  clarke_status status = whole_space(&whole, dim, point, err);

  if (status == CLARKE_OK)
    status = push(s, &whole, err);
  if (status != CLARKE_OK)
    clarke_face_clear(&whole);
  return status;
}

/* The part of f where the form has that sign, which it has at the point. */
static clarke_status
push_part(clarke_faces *s, const clarke_face *f, mpq_t *reduced, int sign, mpq_t *point,
          clarke_error *err)
{
  clarke_face part;
  clarke_status status = copy_face(&part, f, point, err);

  if (status == CLARKE_OK)
    status = restrict_face(&part, reduced, sign, err);
  part.next = 0;
  if (status == CLARKE_OK)
    status = push(s, &part, err);
  if (status != CLARKE_OK)
    clarke_face_clear(&part);
  return status;
}

/* --- other points of a face ------------------------------------------------------------------- */

void
clarke_face_complete(mpq_t *point, const clarke_face *f)
{
  size_t width = f->dim + 1;
  mpq_t value;

  mpq_init(value);
  for (size_t i = 0; i < f->n_equal; i++)
    mpq_set_ui(point[f->pivot[i]], 0, 1);
  for (size_t i = 0; i < f->n_equal; i++) {
    clarke_form_value(value, &f->equal[i * width], point, f->dim);
    mpq_neg(value, value);
    mpq_swap(value, point[f->pivot[i]]);
    /* the other pivots' columns are 0 in this row, so the order does not matter */
  }
  mpq_clear(value);
}

/* How far along an entry (the pivots' following it) strict forms let the point go: half of the way
 * to the nearest, 1 at most. */
static void
step_length(mpq_t step, const clarke_face *f, size_t j)
{
  size_t width = f->dim + 1;
  mpq_t value, slope;

  mpq_inits(value, slope, NULL);
  mpq_set_ui(step, 2, 1);
  for (size_t i = 0; i < f->n_strict; i++) {
    mpq_t *form = &f->strict[i * width];

    if (mpq_sgn(form[j]) == 0)
      continue;
    mpq_abs(slope, form[j]);
    clarke_form_value(value, form, f->point, f->dim);
    mpq_div(value, value, slope);
    if (mpq_cmp(value, step) < 0)
      mpq_set(step, value);
  }
  mpq_div_2exp(step, step, 1);
  mpq_clears(value, slope, NULL);
}

clarke_status
clarke_face_leave(mpq_t *point, const clarke_face *f, mpq_t *reduced, int side, clarke_error *err)
{
  size_t j = first_free(reduced, f->dim);
  mpq_t step;

  if (j == f->dim)
    return clarke_fail(err, CLARKE_EINTERNAL, "a constant form has one sign");
  mpq_init(step);
  step_length(step, f, j);
  if (mpq_sgn(reduced[j]) * side < 0)
    mpq_neg(step, step);
  for (size_t k = 0; k < f->dim; k++)
    mpq_set(point[k], f->point[k]);
  mpq_add(point[j], point[j], step);
  clarke_face_complete(point, f);
  mpq_clear(step);
  return CLARKE_OK;
}

/* --- the opposite sign ------------------------------------------------------------------------ */

/* The point between x and y where the form is 0. */
static void
crossing(mpq_t *z, mpq_t *x, mpq_t *y, mpq_t *form, size_t dim)
{
  mpq_t at_x, at_y;

  mpq_inits(at_x, at_y, NULL);
  clarke_form_value(at_x, form, x, dim);
  clarke_form_value(at_y, form, y, dim);
  mpq_sub(at_y, at_x, at_y);
  mpq_div(at_x, at_x, at_y);
  for (size_t j = 0; j < dim; j++) {
    mpq_sub(z[j], y[j], x[j]);
    mpq_mul(z[j], z[j], at_x);
    mpq_add(z[j], z[j], x[j]);
  }
  mpq_clears(at_x, at_y, NULL);
}

/* Points where the form has the two signs that it has not at f's own: y, z for the sign 0 (or for
 * the negative one, when it is 0 at f's own). */
static clarke_status
other_points(bool *split, mpq_t *y, mpq_t *z, const clarke_face *f, clarke_faces *s,
             mpq_t *reduced, int sign, clarke_error *err)
{
  clarke_cone_answer answer = CLARKE_CONE_UNKNOWN;
  clarke_status status;

  *split = true;
  if (sign == 0) {
    status = clarke_face_leave(y, f, reduced, 1, err);
    return status == CLARKE_OK ? clarke_face_leave(z, f, reduced, -1, err) : status;
  }
  s->work += 64.0 * (double)(f->n_strict + 2) * (double)(f->dim + 1);
  status = clarke_face_side(&answer, y, f, reduced, -sign, err);
  *split = answer == CLARKE_CONE_FEASIBLE;
  s->open = s->open || answer == CLARKE_CONE_UNKNOWN || s->work > CLARKE_FACE_WORK;
  if (status == CLARKE_OK && *split)
    crossing(z, f->point, y, reduced, f->dim);
  return status;
}

static clarke_status
split_face(clarke_face *f, clarke_faces *s, mpq_t *reduced, int sign, clarke_error *err)
{
  mpq_t *y = clarke_rationals(f->dim), *z = clarke_rationals(f->dim);
  clarke_status status = CLARKE_OK;
  bool split = false;

  if (y == NULL || z == NULL)
    status = clarke_no_memory(err);
  if (status == CLARKE_OK)
    status = other_points(&split, y, z, f, s, reduced, sign, err);
  if (status == CLARKE_OK && split && !s->open)
    status = push_part(s, f, reduced, sign == 0 ? 1 : -sign, y, err);
  if (status == CLARKE_OK && split && !s->open)
    status = push_part(s, f, reduced, sign == 0 ? -1 : 0, z, err);
  if (status == CLARKE_OK)
    status = split ? restrict_face(f, reduced, sign, err) : record_sign(f, sign, err);
  clarke_rationals_free(y, f->dim);
  clarke_rationals_free(z, f->dim);
  return status;
}

clarke_status
clarke_face_decide(int *sign, clarke_face *f, clarke_faces *s, mpq_t *form, clarke_error *err)
{
  mpq_t *reduced, value;
  clarke_status status;

  if (f->next < f->n_signs) {
    *sign = f->sign[f->next++];
    return CLARKE_OK;
  }
  reduced = clarke_rationals(f->dim + 1);
  if (reduced == NULL)
    return clarke_no_memory(err);
  mpq_init(value);
  clarke_face_reduce(reduced, f, form);
  clarke_form_value(value, reduced, f->point, f->dim);
  *sign = mpq_sgn(value);
  s->work += (double)(f->n_equal + 1) * (double)(f->dim + 1);
  if (clarke_form_constant(reduced, f->dim))
    status = record_sign(f, *sign, err);
  else
    status = split_face(f, s, reduced, *sign, err);
  mpq_clear(value);
  clarke_rationals_free(reduced, f->dim + 1);
  return status;
}
