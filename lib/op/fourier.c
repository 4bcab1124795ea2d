/* DFT and STFT: products with a matrix of cosines. What of these is rational is a constant; the others are cosines of parts of
 * Atan(1), a quarter of half a turn, so that they are exact. */
#include "op/axes.h"
#include "op/lower.h"
#include "op/node.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ENTRIES ((size_t)1 << 20) /* of the matrix */

/* Along an axis: `rows` of the input's entries are read, each of `parts` numbers, and `columns` of `results` are made. */
typedef struct {
  size_t length, rows, parts, columns, results;
  bool inverse, real; /* real: of one half of the frequencies, that stand for both */
} transform;

/* Entry (i, j) of the matrix: `factor` times the cosine of a quarter turn's i-th part of `length`, i from 0 to length. */
typedef struct {
  int64_t *place;
  double *factor;
  size_t n;
} matrix;

/* cos(turn / (4 length) of a whole turn), by a turn of at most a quarter. */
static void
put_cosine(matrix *m, size_t e, size_t turn, double factor, size_t length)
{
  turn %= 4 * length;
  turn = turn > 2 * length ? 4 * length - turn : turn;
  m->factor[e] = turn > length ? -factor : factor;
  m->place[e] = (int64_t)(turn > length ? 2 * length - turn : turn);
}

/* Entry (row, part) by (column, result), of e^(-i t) or e^(i t), t a whole turn's part. */
static void
fill(const transform *t, matrix *m)
{
  const size_t whole = 4 * t->length;

  for (size_t e = 0; e < m->n; e++) {
    const size_t result = e % t->results, column = e / t->results % t->columns;
    const size_t part = e / t->results / t->columns % t->parts, row = e / t->results / t->columns / t->parts;
    const size_t ahead = 4 * (row * column % t->length), turn = t->inverse ? whole - ahead : ahead;
    const double both = t->real && row > 0 && 2 * row != t->length ? 2 : 1;

    if (result == part)
      put_cosine(m, e, turn, both, t->length);
    else /* a sine */
      put_cosine(m, e, turn + whole - t->length, result > part ? -both : both, t->length);
  }
}

/* Is the cosine of that part of a quarter turn rational? */
static bool
is_rational(size_t place, size_t length)
{
  return place == 0 || place == length || 3 * place == 2 * length;
}

static double
rational_cosine(size_t place, size_t length)
{
  return place == 0 ? 1 : place == length ? 0 : 0.5;
}

/* cos(i / length of a quarter turn), i from 0 to length; what is rational is added to 0. */
static size_t
add_cosines(clarke_lowering *low, size_t length, clarke_error *err)
{
  const size_t n = length + 1;
  size_t angle, kept, added, y;

  if (clarke_lower_made(low, 1, &n, &angle, err) != CLARKE_OK || clarke_lower_made(low, 1, &n, &kept, err) != CLARKE_OK
      || clarke_lower_made(low, 1, &n, &added, err) != CLARKE_OK)
    return CLARKE_NONE;
  for (size_t i = 0; i < n; i++) {
    const bool known = is_rational(i, length);

    low->graph->values[angle].real[i] = 2 * (double)i;
    low->graph->values[kept].real[i] = !known;
    low->graph->values[added].real[i] = known ? rational_cosine(i, length) : 0;
  }
  y = clarke_inner_function(low, "Atan", clarke_inner_number(low, 1, err), err);
  y = clarke_inner_of(low, "Mul", y, angle, err);
  y = y != CLARKE_NONE ? clarke_inner_of(low, "Div", y, clarke_inner_number(low, (double)length, err), err) : y;
  y = clarke_inner_of(low, "Mul", clarke_inner_function(low, "Cos", y, err), kept, err);
  return clarke_inner_of(low, "Add", y, added, err);
}

/* The matrix as a value: a constant where all of it is rational. */
static size_t
matrix_value(clarke_lowering *low, const transform *t, matrix *m, clarke_error *err)
{
  const size_t dims[2] = {t->rows * t->parts, t->columns * t->results};
  size_t factors, places, y;
  bool rational = true;

  for (size_t e = 0; e < m->n; e++)
    rational = rational && is_rational((size_t)m->place[e], t->length);
  if (clarke_lower_made(low, 2, dims, &factors, err) != CLARKE_OK)
    return CLARKE_NONE;
  for (size_t e = 0; e < m->n; e++)
    low->graph->values[factors].real[e] = m->factor[e] * (rational ? rational_cosine((size_t)m->place[e], t->length) : 1);
  if (rational)
    return factors;
  places = clarke_inner_integers(low, m->place, m->n, err);
  y = clarke_inner_of(low, "Gather", add_cosines(low, t->length, err), places, err);
  y = clarke_inner_reshaped(low, y, (int64_t[]){(int64_t)dims[0], (int64_t)dims[1]}, 2, err);
  return clarke_inner_of(low, "Mul", y, factors, err);
}

static size_t
add_matrix(clarke_lowering *low, const transform *t, clarke_error *err)
{
  matrix m = {.n = t->rows * t->parts * t->columns * t->results};
  size_t value = CLARKE_NONE;

  m.place = calloc(m.n + 1, sizeof *m.place);
  m.factor = calloc(m.n + 1, sizeof *m.factor);
  if (m.place == NULL || m.factor == NULL)
    clarke_lower_no_memory(low, err);
  else {
    fill(t, &m);
    value = matrix_value(low, t, &m, err);
  }
  free(m.place);
  free(m.factor);
  return value;
}

/* The value, whose axes are `dims` with `axis` and, behind all, the parts of a number. */
static size_t
transformed(clarke_lowering *low, const transform *t, size_t value, size_t rank, const size_t *dims, size_t axis, clarke_error *err)
{
  int64_t order[CLARKE_MAX_WHOLE + 1], shape[CLARKE_MAX_WHOLE + 1];
  size_t n = 0, y;

  for (size_t a = 0; a + 1 < rank; a++)
    if (a != axis) {
      shape[n] = (int64_t)dims[a];
      order[n++] = (int64_t)a;
    }
  order[n] = (int64_t)axis;
  order[n + 1] = (int64_t)rank - 1;
  value = clarke_inner_sliced(low, value, axis, 0, t->rows, err);
  value = clarke_inner_transposed(low, value, order, rank, err);
  shape[n] = n > 0 ? (int64_t)(t->rows * t->parts) : 1; /* a vector is a matrix of one row */
  shape[n + 1] = (int64_t)(t->rows * t->parts);
  value = clarke_inner_reshaped(low, value, shape, n > 0 ? n + 1 : 2, err);
  y = value != CLARKE_NONE ? add_matrix(low, t, err) : value;
  y = clarke_inner_of(low, "MatMul", value, y, err);
  if (t->inverse && y != CLARKE_NONE)
    y = clarke_inner_of(low, "Div", y, clarke_inner_number(low, (double)t->length, err), err);
  shape[n] = (int64_t)t->columns;
  shape[n + 1] = (int64_t)t->results;
  y = clarke_inner_reshaped(low, y, shape, n + 2, err);
  for (size_t a = 0; a + 1 < rank; a++)
    order[a] = (int64_t)(a < axis ? a : a == axis ? rank - 2 : a - 1);
  order[rank - 1] = (int64_t)rank - 1;
  return clarke_inner_transposed(low, y, order, rank, err);
}

/* Input i, one constant integer above 0, or `absent`. */
static clarke_status
read_number(const clarke_lowering *low, size_t i, size_t absent, size_t *number, clarke_error *err)
{
  const int64_t *list;
  size_t n;
  clarke_status status;

  *number = absent;
  if (!clarke_lower_has(low, i))
    return CLARKE_OK;
  status = clarke_lower_integers(low, i, &list, &n, err);
  if (status == CLARKE_OK && (n != 1 || list[0] < 1 || list[0] > INT32_MAX))
    return clarke_lower_fail(low, err, "input %zu is no one number above 0", i);
  *number = status == CLARKE_OK ? (size_t)list[0] : absent;
  return status;
}

/* What is made of `rows` entries along the axis, each of `parts`, for a signal of the length. */
static clarke_status
plan(transform *t, const clarke_lowering *low, size_t rows, size_t parts, bool one_sided, clarke_error *err)
{
  const size_t half = t->length / 2 + 1;

  t->real = t->inverse && one_sided;
  t->parts = parts;
  t->columns = one_sided && !t->inverse ? half : t->length;
  t->results = t->real ? 1 : 2;
  t->rows = rows < t->length ? rows : t->length;
  if (parts != 1 && parts != 2)
    return clarke_lower_fail(low, err, "the last axis has %zu entries; expected 1, or 2 of complex numbers", parts);
  if (one_sided && parts != (t->inverse ? 2 : 1))
    return clarke_lower_fail(low, err, "one side alone is of a real signal, or, back to it, of complex numbers");
  if (t->real && rows != half)
    return clarke_lower_fail(low, err, "%zu frequencies, where one side has %zu: readers differ", rows, half);
  if (t->rows == 0 || t->length > MOST_ENTRIES || t->rows * parts > MOST_ENTRIES / (t->columns * t->results))
    return clarke_lower_fail(low, err, "no entries, or a matrix of over %zu", MOST_ENTRIES);
  return CLARKE_OK;
}

static clarke_status
lower_fourier(clarke_lowering *low, clarke_error *err)
{
  const bool one_sided = clarke_lower_int(low, "onesided", 0) != 0;
  transform t = {.inverse = clarke_lower_int(low, "inverse", 0) != 0};
  size_t dims[CLARKE_MAX_WHOLE], rank, axis = 0, n = 1;
  const int64_t *list = (int64_t[]){low->opset < 20 ? clarke_lower_int(low, "axis", 1) : -2};
  clarke_status status = clarke_lower_first(low, err);

  if (status == CLARKE_OK && clarke_lower_has(low, 2))
    status = clarke_lower_integers(low, 2, &list, &n, err);
  if (status != CLARKE_OK)
    return status;
  rank = clarke_axes_of_run(low, 0, dims);
  status = n == 1 ? clarke_axes_resolve(low, list[0], rank, &axis, err) : clarke_lower_fail(low, err, "the axis is no one number");
  if (status == CLARKE_OK && (rank < 2 || axis + 1 == rank))
    status = clarke_lower_fail(low, err, "the axis is the last, which has the parts of complex numbers");
  if (status == CLARKE_OK)
    status = clarke_axes_apart(low, 0, axis, err);
  if (status == CLARKE_OK)
    status = clarke_axes_apart(low, 0, rank - 1, err);
  if (status == CLARKE_OK)
    status = read_number(low, 1, t.inverse && one_sided ? 2 * (dims[axis] - 1) : dims[axis], &t.length, err);
  if (status == CLARKE_OK)
    status = plan(&t, low, dims[axis], dims[rank - 1], one_sided, err);
  return status == CLARKE_OK ? clarke_inner_done(low, 0, transformed(low, &t, low->in[0], rank, dims, axis, err), err) : status;
}

/* The places of the frames: (frames, length). */
static size_t
frames_of(clarke_lowering *low, size_t frames, size_t step, size_t length, clarke_error *err)
{
  int64_t *place = calloc(frames * length + 1, sizeof *place);
  size_t list;

  if (place == NULL) {
    clarke_lower_no_memory(low, err);
    return CLARKE_NONE;
  }
  for (size_t i = 0; i < frames * length; i++)
    place[i] = (int64_t)(i / length * step + i % length);
  list = clarke_inner_integers(low, place, frames * length, err);
  free(place);
  return clarke_inner_reshaped(low, list, (int64_t[]){(int64_t)frames, (int64_t)length}, 2, err);
}

static clarke_status
lower_short_fourier(clarke_lowering *low, clarke_error *err)
{
  const clarke_attr along = clarke_inner_int("axis", 1);
  transform t = {.inverse = false};
  size_t dims[CLARKE_MAX_WHOLE + 1], step = 1, frames, window[CLARKE_MAX_WHOLE], n = 0, x, by = CLARKE_NONE;
  clarke_status status = clarke_lower_first(low, err);

  if (status != CLARKE_OK)
    return status;
  if (clarke_axes_of_run(low, 0, dims) != 3)
    return clarke_lower_fail(low, err, "the signal has not the axes (samples, length, 1 or 2)");
  status = clarke_axes_apart(low, 0, 1, err);
  if (status == CLARKE_OK)
    status = clarke_axes_apart(low, 0, 2, err);
  if (status == CLARKE_OK)
    status = read_number(low, 1, 1, &step, err);
  if (status == CLARKE_OK && clarke_lower_has(low, 2) && clarke_axes_of_run(low, 2, window) == 1)
    n = window[0];
  if (status == CLARKE_OK)
    status = read_number(low, 3, n > 0 ? n : dims[1], &t.length, err);
  if (status == CLARKE_OK && (t.length > dims[1] || t.length < 1 || clarke_lower_has(low, 2) != (n == t.length)))
    status = clarke_lower_fail(low, err, "a frame that is longer than the signal, or a window of another length");
  if (status == CLARKE_OK)
    status = plan(&t, low, t.length, dims[2], clarke_lower_int(low, "onesided", 1) != 0, err);
  if (status != CLARKE_OK)
    return status;
  frames = (dims[1] - t.length) / step + 1;
  if (frames > CLARKE_MAX_MAP / t.length)
    return clarke_lower_too_large(low, err);
  if (n > 0)
    by = clarke_inner_reshaped(low, low->in[2], (int64_t[]){(int64_t)n, 1}, 2, err);
  x = n == 0 || by != CLARKE_NONE ? frames_of(low, frames, step, t.length, err) : CLARKE_NONE;
  x = x != CLARKE_NONE ? clarke_inner_node(low, "Gather", (size_t[]){low->in[0], x}, 2, &along, 1, err) : x;
  x = n > 0 ? clarke_inner_of(low, "Mul", x, by, err) : x;
  return clarke_inner_done(low, 0, transformed(low, &t, x, 4, (size_t[]){dims[0], frames, t.length, dims[2]}, 2, err), err);
}

const clarke_op clarke_ops_fourier[] = {
  {.name = "DFT", .forms = {{17, 1, 2, 1, "axis:i inverse:b onesided:b"}, {20, 1, 3, 1, "inverse:b onesided:b"}}, .lower = lower_fourier,
   .batch = CLARKE_BATCH_ANY},
  {.name = "STFT", .forms = {{17, 2, 4, 1, "onesided:b"}}, .lower = lower_short_fourier, .batch = CLARKE_BATCH_ANY},
  {.name = NULL},
};
