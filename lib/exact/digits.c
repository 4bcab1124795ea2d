/* Matrices of doubles cut into digits, and sums of products of digits. */
#include "exact/digits.h"

#include "base/wide.h"

#include <cblas.h>
#undef I
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Rows that are cut together: of a transposed matrix a line of memory has one number of each. */
#define TOGETHER ((size_t)8)
/* Numbers that are looked at at a time. */
#define AT_A_TIME ((size_t)512)

bool
clarke_digits_alloc(clarke_digit_matrix *m, size_t count)
{
  m->digit = malloc((count + 1) * sizeof *m->digit);
  m->plane = calloc(m->planes + 1, sizeof *m->plane);
  return m->digit != NULL && m->plane != NULL;
}

static void
drop_list(clarke_digit_plane *p)
{
  free(p->place);
  free(p->number);
  p->place = NULL;
  p->number = NULL;
  p->n = p->capacity = 0;
}

void
clarke_digits_clear(clarke_digit_matrix *m)
{
  for (size_t s = 0; m->plane != NULL && s < m->planes; s++)
    drop_list(&m->plane[s]);
  free(m->plane);
  free(m->digit);
  m->plane = NULL;
  m->digit = NULL;
}

/* --- lists ------------------------------------------------------------------------------------ */

CLARKE_WIDE static size_t
numbers_of(const double *x, size_t n)
{
  uint64_t numbers = 0;

  for (size_t i = 0; i < n; i++)
    numbers += x[i] != 0;
  return (size_t)numbers;
}

static bool
grow_list(clarke_digit_plane *p, size_t capacity)
{
  size_t *place = realloc(p->place, capacity * sizeof *place);
  double *number = NULL;

  if (place != NULL)
    p->place = place;
  if (place != NULL)
    number = realloc(p->number, capacity * sizeof *number);
  if (number != NULL) {
    p->number = number;
    p->capacity = capacity;
  }
  return number != NULL;
}

static bool
add_to_list(clarke_digit_plane *p, size_t place, double digit)
{
  if (p->n == p->capacity && !grow_list(p, 2 * p->capacity + 64))
    return false;
  p->place[p->n] = place;
  p->number[p->n++] = digit;
  p->used = true;
  return true;
}

clarke_status
clarke_digits_list(clarke_digit_matrix *m, size_t s, size_t rows, size_t inner, size_t most, clarke_error *err)
{
  clarke_digit_plane *p = &m->plane[s];
  size_t numbers = 0;

  for (size_t r = 0; r < rows && numbers <= most; r++)
    numbers += numbers_of(clarke_digits_row(m, s, r), inner);
  if (numbers > most)
    return CLARKE_OK;
  if (!grow_list(p, numbers + 1))
    return clarke_no_memory(err);
  for (size_t r = 0; r < rows; r++)
    for (size_t i = 0; i < inner; i++)
      if (clarke_digits_row(m, s, r)[i] != 0)
        add_to_list(p, r * inner + i, clarke_digits_row(m, s, r)[i]); /* which has room */
  return CLARKE_OK;
}

void
clarke_digits_spread(clarke_digit_matrix *m, size_t s, size_t rows, size_t inner)
{
  clarke_digit_plane *p = &m->plane[s];

  for (size_t r = 0; r < rows; r++)
    memset(clarke_digits_row(m, s, r), 0, inner * sizeof *m->digit);
  for (size_t k = 0; k < p->n; k++)
    clarke_digits_row(m, s, p->place[k] / inner)[p->place[k] % inner] = p->number[k];
  drop_list(p);
}

/* --- cutting ---------------------------------------------------------------------------------- */

CLARKE_WIDE static void
leave_rest(double *x, double by, size_t n)
{
  for (size_t i = 0; i < n; i++)
    x[i] -= x[i] + by - by;
}

size_t
clarke_digits_left(const clarke_digit_matrix *m, size_t planes, const double *x, size_t n)
{
  double rest[AT_A_TIME];
  size_t left = 0;

  for (size_t at = 0; at < n; at += AT_A_TIME) {
    const size_t len = n - at < AT_A_TIME ? n - at : AT_A_TIME;

    memcpy(rest, x + at, len * sizeof *rest);
    for (size_t s = m->planes; s-- > m->planes - planes;)
      leave_rest(rest, 0x1.8p52 * clarke_digits_unit(m, s), len);
    left += numbers_of(rest, len);
  }
  return left;
}

/* The nearest multiples of the unit leave x. Has one of them a bit, and *left, what is left? */
CLARKE_WIDE static bool
cut_plane(double *restrict to, double *restrict x, double unit, double per_unit, size_t n, bool *left)
{
  uint64_t found = 0, rest = 0;

  for (size_t i = 0; i < n; i++) {
    const double digit = clarke_nearest_integer(x[i] * per_unit), less = x[i] - digit * unit;
    uint64_t of_digit, of_rest;

    memcpy(&of_digit, &digit, sizeof digit);
    memcpy(&of_rest, &less, sizeof less);
    found |= of_digit;
    rest |= of_rest;
    to[i] = digit;
    x[i] = less;
  }
  *left = rest != 0;
  return found != 0;
}

/* What is left of a number becomes digits of the planes below `dense` ones; what they leave is the new rest. */
static bool
list_rest(clarke_digit_matrix *m, size_t dense, size_t place, double *rest)
{
  for (size_t s = m->planes - dense; s-- > 0 && *rest != 0;) {
    const double unit = clarke_digits_unit(m, s), digit = clarke_nearest_integer(*rest / unit);

    *rest -= digit * unit;
    if (digit != 0 && !add_to_list(&m->plane[s], place, digit))
      return false;
  }
  return true;
}

/* Row r, whose numbers are in x, which becomes what is left of them. */
static bool
cut_row(clarke_digit_matrix *m, bool *whole, double *x, size_t r, size_t inner, size_t dense)
{
  bool left = true, fits = true;

  for (size_t s = m->planes; s-- > m->planes - dense;) {
    const double unit = clarke_digits_unit(m, s);

    if (cut_plane(clarke_digits_row(m, s, r), x, unit, 1 / unit, inner, &left))
      m->plane[s].used = true;
  }
  for (size_t i = 0; i < inner && left && fits; i++)
    if (x[i] != 0) {
      fits = list_rest(m, dense, r * inner + i, &x[i]);
      *whole = *whole && x[i] == 0;
    }
  return fits;
}

/* Rows r and on, as many as go together, to `to`. */
static size_t
copy_rows(double *to, const double *x, clarke_digit_layout l, size_t r)
{
  const size_t in = r % l.rows, n = l.rows - in < TOGETHER ? l.rows - in : TOGETHER;
  const double *block = x + r / l.rows * l.rows * l.inner;

  if (!l.transposed)
    memcpy(to, block + in * l.inner, n * l.inner * sizeof *to);
  for (size_t i = 0; i < l.inner && l.transposed; i++)
    for (size_t k = 0; k < n; k++)
      to[k * l.inner + i] = block[i * l.rows + in + k];
  return n;
}

clarke_status
clarke_digits_cut(clarke_digit_matrix *m, bool *whole, const double *x, clarke_digit_layout l, size_t blocks, size_t dense,
                  clarke_error *err)
{
  const size_t rows = blocks * l.rows;
  double *copy = malloc((TOGETHER * l.inner + 1) * sizeof *copy);
  bool fits = clarke_digits_alloc(m, (m->planes - m->first) * rows * l.inner) && copy != NULL;

  *whole = true;
  for (size_t r = 0, n; r < rows && fits; r += n) {
    n = copy_rows(copy, x, l, r);
    for (size_t k = 0; k < n && fits; k++)
      fits = cut_row(m, whole, copy + k * l.inner, r + k, l.inner, dense);
  }
  free(copy);
  return fits ? CLARKE_OK : clarke_no_memory(err);
}

/* --- masses ----------------------------------------------------------------------------------- */

/* Additions side by side wait for no other. */
#define SIDE_BY_SIDE 8

CLARKE_WIDE static double
sizes(const double *restrict x, size_t n)
{
  double sum[SIDE_BY_SIDE] = {0}, all = 0;
  size_t i = 0;

  for (; i + SIDE_BY_SIDE <= n; i += SIDE_BY_SIDE)
    for (size_t k = 0; k < SIDE_BY_SIDE; k++)
      sum[k] += fabs(x[i + k]);
  for (; i < n; i++)
    all += fabs(x[i]);
  for (size_t k = 0; k < SIDE_BY_SIDE; k++)
    all += sum[k];
  return all;
}

void
clarke_digits_measure(double *mass, const clarke_digit_matrix *m, size_t s, size_t rows, size_t inner, size_t piece)
{
  const size_t pieces = (inner + piece - 1) / piece;
  const clarke_digit_plane *p = &m->plane[s];

  for (size_t k = 0; k < p->n; k++)
    mass[p->place[k] / inner * pieces + p->place[k] % inner / piece] += fabs(p->number[k]);
  for (size_t r = 0; r < rows && p->number == NULL && p->used; r++) {
    const double *digit = clarke_digits_row(m, s, r);

    for (size_t b = 0; b < pieces; b++)
      mass[r * pieces + b] += sizes(digit + b * piece, inner - b * piece < piece ? inner - b * piece : piece);
  }
}

/* --- products --------------------------------------------------------------------------------- */

CLARKE_WIDE static void
add_multiple(double *restrict to, double factor, const double *restrict x, size_t n)
{
  for (size_t i = 0; i < n; i++)
    to[i] += factor * x[i];
}

/* The first of a list's places that is not before this one. */
static size_t
first_from(const clarke_digit_plane *p, size_t place)
{
  size_t from = 0, to = p->n;

  while (from < to) {
    const size_t middle = from + (to - from) / 2;

    if (p->place[middle] < place)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

/* sum += a list of A's digits by plane t of B. */
static void
add_list(const clarke_digit_product *p, const clarke_digit_plane *list, size_t t)
{
  const size_t first = p->a_row * p->inner, end = first + p->rows * p->inner;
  const double *b = clarke_digits_row(p->b, t, 0);

  for (size_t k = first_from(list, first); k < list->n && list->place[k] < end; k++) {
    const size_t at = list->place[k] - first;

    add_multiple(p->sum + at / p->inner * p->cols, list->number[k], b + at % p->inner * p->b->stride, p->cols);
  }
}

/* sum (+)= plane s of A by plane t of B, of n inner products from the k-th on. */
static void
multiply(const clarke_digit_product *p, size_t s, size_t t, size_t k, size_t n, bool add)
{
  const clarke_digit_matrix *a = p->a, *b = p->b;

  cblas_dgemm(CblasRowMajor, p->a_transposed ? CblasTrans : CblasNoTrans, p->b_transposed ? CblasTrans : CblasNoTrans, (int)p->rows,
              (int)p->cols, (int)n, 1, clarke_digits_row(a, s, 0) + k * (p->a_transposed ? a->stride : 1), (int)a->stride,
              clarke_digits_row(b, t, 0) + k * (p->b_transposed ? 1 : b->stride), (int)b->stride, add ? 1 : 0, p->sum, (int)p->cols);
}

/* Room in the sum for so much more: returns what it holds then. */
static double
make_room(const clarke_digit_product *p, size_t weight, double held, double mass)
{
  if (held + mass <= p->room)
    return held;
  p->take(p->context, weight);
  return 0;
}

/* Adds the products of planes s and t to sums that hold so much; returns what they hold then. */
static double
add_planes(const clarke_digit_product *p, size_t s, size_t t, size_t weight, double held)
{
  const clarke_digit_plane *of = &p->a->plane[s];

  if (of->number != NULL) {
    held = make_room(p, weight, held, of->mass);
    if (held == 0 && p->room < INFINITY)
      memset(p->sum, 0, p->rows * p->cols * sizeof *p->sum);
    add_list(p, of, t);
    return held + of->mass;
  }
  for (size_t k = 0; k < p->inner; k += of->reach) {
    held = make_room(p, weight, held, of->mass);
    multiply(p, s, t, k, p->inner - k < of->reach ? p->inner - k : of->reach, held > 0 || p->room == INFINITY);
    held += of->mass;
  }
  return held;
}

/* Planes s, s - 1, ... of A by t, t + 1, ... of B are one product where they lie one behind another, and sums hold all: how many? */
static size_t
one_behind_another(const clarke_digit_product *p, size_t s, size_t t)
{
  const size_t of_a = s - p->a->first + 1, of_b = p->b->planes - t;

  if (p->room < INFINITY || p->a->plane[s].number != NULL || p->a_transposed || p->b_transposed || p->a->width != p->b->width ||
      p->a->apart != (ptrdiff_t)p->inner || p->b->apart != -(ptrdiff_t)(p->inner * p->b->stride))
    return 1;
  return of_a < of_b ? of_a : of_b;
}

void
clarke_digits_multiply(const clarke_digit_product *p, size_t weight)
{
  const size_t u = (size_t)p->a->width, v = (size_t)p->b->width;
  double held = 0;

  for (size_t s = p->a->planes, run; s > 0; s -= run) {
    const size_t of_a = u * (s - 1), t = (weight - of_a) / v;

    run = 1;
    if (of_a > weight || (weight - of_a) % v != 0 || t >= p->b->planes || !p->a->plane[s - 1].used ||
        (p->b->plane != NULL && !p->b->plane[t].used))
      continue;
    run = one_behind_another(p, s - 1, t);
    if (run == 1)
      held = add_planes(p, s - 1, t, weight, held);
    else
      multiply(p, s - run, t + run - 1, 0, run * p->inner, true);
  }
  if (held > 0 && p->room < INFINITY)
    p->take(p->context, weight);
}
