/* A weight in slices: digits, or lists of numbers where a slice has few. */
#include "network/derive/gradient/sliced.h"

#include "network/derive/gradient/rows.h"

#include <stdlib.h>
#include <string.h>

/* A slice with fewer numbers than one of so many is multiplied number by number. */
#define SPARSE 40

/* Room for a list of n numbers of slice s. */
static clarke_status
few_room(clarke_sliced_weight *w, size_t s, size_t n, clarke_error *err)
{
  w->few[s] = malloc((n + 1) * sizeof **w->few);
  w->few_digit[s] = malloc((n + 1) * sizeof **w->few_digit);
  return w->few[s] != NULL && w->few_digit[s] != NULL ? CLARKE_OK : clarke_no_memory(err);
}

static void
add_to_few(clarke_sliced_weight *w, size_t s, size_t place, double digit)
{
  w->few[s][w->n_few[s]] = place;
  w->few_digit[s][w->n_few[s]++] = digit;
}

/* Lists the numbers of slice s, n of them. */
static clarke_status
list_few(clarke_sliced_weight *w, size_t s, size_t n, clarke_error *err)
{
  const double *digit = w->cut.digit + s * w->cut.plane;
  const clarke_status status = few_room(w, s, n, err);

  for (size_t e = 0; e < w->cut.plane && status == CLARKE_OK; e++)
    if (digit[e] != 0)
      add_to_few(w, s, e, digit[e]);
  return status;
}

/* Rows' sums are looked at in pieces of so many numbers. */
#define PIECE (CLARKE_GRADIENT_SUM / 2)

/* The sizes of a block's numbers of slice s, in its units, by piece and row. */
static void
measure_pieces(double *piece, const clarke_sliced_weight *w, size_t s, size_t first, double per_unit)
{
  const clarke_sliced_layout *l = &w->layout;
  const double *digit = w->cut.digit + s * w->cut.plane + first;

  for (size_t k = 0; k < l->inner && l->transposed; k++)
    for (size_t i = 0; i < l->rows; i++)
      piece[k / PIECE * l->rows + i] += fabs(digit[k * l->rows + i]) * per_unit;
  for (size_t i = 0; i < l->rows && !l->transposed; i++)
    for (size_t k = 0; k < l->inner; k += PIECE) {
      const size_t n = l->inner - k < PIECE ? l->inner - k : PIECE;

      piece[k / PIECE * l->rows + i] = clarke_rows_sizes(digit + i * l->inner + k, n) * per_unit;
    }
}

/* The most that a row has in `together` pieces, from a multiple of that on. */
static double
mass_of(const double *piece, size_t pieces, size_t rows, size_t together)
{
  double most = 0;

  for (size_t from = 0; from < pieces; from += together)
    for (size_t i = 0; i < rows; i++) {
      double sum = 0;

      for (size_t b = from; b < pieces && b < from + together; b++)
        sum += piece[b * rows + i];
      most = fmax(most, sum);
    }
  return most;
}

/* How long the sums of a slice may be: sizes are sums of integers below 2^53, without error. */
static clarke_status
find_reach(clarke_sliced_weight *w, size_t s, clarke_error *err)
{
  const clarke_sliced_layout *l = &w->layout;
  const size_t block = l->rows * l->inner, pieces = (l->inner + PIECE - 1) / PIECE, blocks = w->cut.plane / block;
  const double per_unit = ldexp(1, -(w->cut.top + 1 - (int)(s + 1) * w->cut.bits));
  double *piece = calloc(blocks * pieces * l->rows + 1, sizeof *piece);
  size_t together = pieces;

  if (piece == NULL)
    return clarke_no_memory(err);
  for (size_t b = 0; b < blocks; b++)
    measure_pieces(piece + b * pieces * l->rows, w, s, b * block, per_unit);
  for (;; together--) {
    w->mass[s] = 0;
    for (size_t b = 0; b < blocks; b++)
      w->mass[s] = fmax(w->mass[s], mass_of(piece + b * pieces * l->rows, pieces, l->rows, together));
    if (w->mass[s] <= CLARKE_GRADIENT_MASS) /* as two pieces are at the latest */
      break;
  }
  w->reach[s] = together * PIECE;
  free(piece);
  return CLARKE_OK;
}

/* A slice that is cut: how long its sums may be, and a list of its numbers where they are few. */
static clarke_status
look_at_slice(clarke_sliced_weight *w, size_t s, clarke_error *err)
{
  const double *digit = w->cut.digit + s * w->cut.plane;
  size_t n = 0;
  clarke_status status;

  for (size_t e = 0; e < w->cut.plane; e++)
    n += digit[e] != 0;
  w->cut.used[s] = n > 0;
  status = n > 0 ? find_reach(w, s, err) : CLARKE_OK;
  if (status == CLARKE_OK && n > 0 && n <= w->cut.plane / SPARSE && w->reach[s] >= w->layout.inner)
    status = list_few(w, s, n, err);
  return status;
}

/* --- slices of few numbers ------------------------------------------------------------------------ */

/* What is left of a weight's numbers where it is not 0, n of them, becomes slice s. */
static clarke_status
list_rest(clarke_sliced_weight *w, size_t s, const double *x, size_t n, clarke_error *err)
{
  const double *digit = w->cut.digit + (s - 1) * w->cut.plane;
  const clarke_status status = few_room(w, s, n, err);

  for (size_t e = 0; e < w->cut.plane && status == CLARKE_OK; e++)
    if (x[e] != digit[e])
      add_to_few(w, s, e, x[e] - digit[e]); /* without error */
  return status;
}

/* The sizes of a row's numbers in a list, in the slice's units, at most; in doubles that are integers below 2^53. */
static clarke_status
find_mass(clarke_sliced_weight *w, size_t s, clarke_error *err)
{
  const clarke_sliced_layout *l = &w->layout;
  const size_t block = l->rows * l->inner;
  const double per_unit = ldexp(1, -(w->cut.top + 1 - (int)(s + 1) * w->cut.bits));
  double *row = calloc(w->cut.plane / block * l->rows + 1, sizeof *row);

  if (row == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < w->n_few[s]; i++) {
    const size_t e = w->few[s][i] % block, at = l->transposed ? e % l->rows : e / l->inner;
    double *sum = &row[w->few[s][i] / block * l->rows + at];

    *sum += fabs(w->few_digit[s][i]) * per_unit;
    w->mass[s] = fmax(w->mass[s], *sum);
  }
  free(row);
  return CLARKE_OK;
}

static void
drop_few(clarke_sliced_weight *w, size_t s)
{
  free(w->few[s]);
  free(w->few_digit[s]);
  w->few[s] = NULL;
  w->few_digit[s] = NULL;
  w->n_few[s] = 0;
}

/* Slice s from a list of what is left, whose rest becomes the next slice's; *left: how many of it. */
static clarke_status
cut_few(clarke_sliced_weight *w, size_t s, size_t *left, clarke_error *err)
{
  const size_t n = w->n_few[s];
  const double by = 0x1.8p52 * clarke_sliced_unit(&w->cut, s);
  const bool last = s + 1 == CLARKE_GRADIENT_WEIGHT_MOST;
  clarke_status status = last ? CLARKE_OK : few_room(w, s + 1, n, err);

  w->n_few[s] = *left = 0;
  for (size_t i = 0; i < n && status == CLARKE_OK; i++) {
    const size_t place = w->few[s][i];
    const double x = w->few_digit[s][i], digit = (x + by) - by;

    if (digit != 0)
      add_to_few(w, s, place, digit);
    if (x != digit && !last)
      add_to_few(w, s + 1, place, x - digit); /* without error */
    *left += x != digit;
  }
  if (!last && *left == 0)
    drop_few(w, s + 1);
  w->cut.used[s] = w->n_few[s] > 0;
  w->reach[s] = w->layout.inner;
  return status == CLARKE_OK ? find_mass(w, s, err) : status;
}

/* A list whose rows hold too much for one sum becomes digits. */
static clarke_status
spread_few(clarke_sliced_weight *w, size_t s, clarke_error *err)
{
  double *digit = w->cut.digit + s * w->cut.plane;

  memset(digit, 0, w->cut.plane * sizeof *digit);
  for (size_t i = 0; i < w->n_few[s]; i++)
    digit[w->few[s][i]] = w->few_digit[s][i];
  drop_few(w, s);
  return find_reach(w, s, err);
}

/* The slices from the s-th on, of n numbers of which something is left. */
static clarke_status
cut_rest(clarke_sliced_weight *w, size_t s, const double *x, size_t *left, clarke_error *err)
{
  clarke_status status = list_rest(w, s, x, *left, err);

  for (; s < CLARKE_GRADIENT_WEIGHT_MOST && status == CLARKE_OK && *left > 0; s++) {
    status = cut_few(w, s, left, err);
    if (status == CLARKE_OK && w->mass[s] > CLARKE_GRADIENT_MASS)
      status = spread_few(w, s, err);
  }
  return status;
}

/* --- a weight ------------------------------------------------------------------------------------- */

/* As many slices as it takes; what is left is looked at, and dropped. */
static clarke_status
cut_weight(clarke_sliced_weight *w, clarke_error *err)
{
  const size_t count = w->cut.plane;
  const double *x = w->all;
  double *rest = NULL;
  size_t left = count;
  clarke_status status = CLARKE_OK;

  w->cut.bits = CLARKE_GRADIENT_WEIGHT_SLICE;
  w->cut.slices = CLARKE_GRADIENT_WEIGHT_MOST;
  w->cut.digit = malloc((count * CLARKE_GRADIENT_WEIGHT_MOST + 1) * sizeof *w->cut.digit);
  if (w->cut.digit == NULL)
    return clarke_no_memory(err);
  for (size_t s = 0; s < w->cut.slices && status == CLARKE_OK && left > 0; s++) {
    const double *digit = w->cut.digit + s * count;

    left = clarke_rows_cut_doubles(w->cut.digit + s * count, x, clarke_sliced_unit(&w->cut, s), count);
    status = look_at_slice(w, s, err);
    if (status != CLARKE_OK || left == 0 || s + 1 == w->cut.slices)
      break;
    if (left <= count / SPARSE) {
      status = cut_rest(w, s + 1, x, &left, err);
      break;
    }
    rest = rest != NULL ? rest : malloc(count * sizeof *rest);
    for (size_t e = 0; e < count && rest != NULL; e++)
      rest[e] = x[e] - digit[e]; /* without error */
    x = rest;
    status = rest != NULL ? CLARKE_OK : clarke_no_memory(err);
  }
  w->whole = left == 0;
  free(rest);
  return status;
}

clarke_status
clarke_sliced_weight_make(clarke_sliced_weight *w, bool *fits, const double *all, size_t count, clarke_sliced_layout layout,
                          bool slices, clarke_error *err)
{
  *w = (clarke_sliced_weight){.all = all, .layout = layout,
                              .cut = {.plane = count, .stride = layout.transposed ? layout.rows : layout.inner}};
  *fits = clarke_sliced_top(&w->cut.top, clarke_largest_double(all, count));
  return *fits && slices ? cut_weight(w, err) : CLARKE_OK;
}

void
clarke_sliced_weight_clear(clarke_sliced_weight *w)
{
  for (size_t s = 0; s < CLARKE_GRADIENT_WEIGHT_MOST; s++)
    drop_few(w, s);
  free(w->cut.digit);
}

double
clarke_sliced_weight_rest(const clarke_sliced_weight *w)
{
  return w->whole ? 0 : ldexp(1, w->cut.top - CLARKE_GRADIENT_WEIGHT_MOST * CLARKE_GRADIENT_WEIGHT_SLICE);
}
