/* A weight in slices: digits, or lists of numbers where a slice has few. */
#include "network/derive/gradient/sliced.h"

#include <stdlib.h>

/* A slice with fewer numbers than one of so many is multiplied number by number. */
#define SPARSE 40
/* Rows' sums are looked at in pieces of so many numbers. */
#define PIECE (CLARKE_GRADIENT_SUM / 2)

/* The most that a row has in `together` pieces, from a multiple of that on. */
static double
mass_of(const double *piece, size_t pieces, size_t rows, size_t together)
{
  double most = 0;

  for (size_t i = 0; i < rows; i++)
    for (size_t from = 0; from < pieces; from += together) {
      double sum = 0;

      for (size_t b = from; b < pieces && b < from + together; b++)
        sum += piece[i * pieces + b];
      most = fmax(most, sum);
    }
  return most;
}

/* How long the sums of a slice may be: sizes are sums of integers below 2^53, without error. */
static clarke_status
find_reach(clarke_digit_matrix *m, size_t s, size_t rows, size_t inner, clarke_error *err)
{
  const size_t pieces = (inner + PIECE - 1) / PIECE;
  double *piece = calloc(rows * pieces + 1, sizeof *piece);
  size_t together = pieces;

  if (piece == NULL)
    return clarke_no_memory(err);
  clarke_digits_measure(piece, m, s, rows, inner, PIECE);
  while ((m->plane[s].mass = mass_of(piece, pieces, rows, together)) > CLARKE_GRADIENT_MASS) /* as two pieces have not at the latest */
    together--;
  m->plane[s].reach = together * PIECE;
  free(piece);
  return CLARKE_OK;
}

/* A slice that is cut: how long its sums may be. It is a list where its numbers are few, and none of its rows holds too much. */
static clarke_status
look_at_slice(clarke_digit_matrix *m, size_t s, size_t rows, size_t inner, clarke_error *err)
{
  const bool listed = m->plane[s].number != NULL;
  clarke_status status = CLARKE_OK;

  if (m->plane[s].used)
    status = find_reach(m, s, rows, inner, err);
  if (!m->plane[s].used || status != CLARKE_OK)
    return status;
  if (listed && m->plane[s].reach < inner)
    clarke_digits_spread(m, s, rows, inner);
  else if (!listed && m->plane[s].reach >= inner)
    status = clarke_digits_list(m, s, rows, inner, rows * inner / SPARSE, err);
  return status;
}

/* As many slices as it takes: digits, or lists as soon as no more than a few numbers are left. What is left below is looked at, and
 * dropped. */
static clarke_status
cut_weight(clarke_sliced_weight *w, int top, size_t count, clarke_error *err)
{
  const clarke_digit_layout *l = &w->layout;
  const size_t rows = count / l->inner;
  clarke_digit_matrix *m = &w->cut;
  size_t dense = 1;
  clarke_status status;

  *m = (clarke_digit_matrix){.width = CLARKE_GRADIENT_WEIGHT_SLICE, .planes = CLARKE_GRADIENT_WEIGHT_MOST, .stride = l->inner,
                             .apart = (ptrdiff_t)count,
                             .low = top + 1 - CLARKE_GRADIENT_WEIGHT_MOST * CLARKE_GRADIENT_WEIGHT_SLICE};
  while (dense < m->planes && clarke_digits_left(m, dense, w->all, count) > count / SPARSE)
    dense++;
  status = clarke_digits_cut(m, &w->whole, w->all, *l, rows / l->rows, dense, err);
  for (size_t s = 0; s < m->planes && status == CLARKE_OK; s++)
    status = look_at_slice(m, s, rows, l->inner, err);
  return status;
}

clarke_status
clarke_sliced_weight_make(clarke_sliced_weight *w, bool *fits, const double *all, size_t count, clarke_digit_layout layout,
                          bool slices, clarke_error *err)
{
  int top;

  *w = (clarke_sliced_weight){.all = all, .layout = layout};
  *fits = clarke_sliced_top(&top, clarke_largest_double(all, count));
  return *fits && slices ? cut_weight(w, top, count, err) : CLARKE_OK;
}

void
clarke_sliced_weight_clear(clarke_sliced_weight *w)
{
  clarke_digits_clear(&w->cut);
}

double
clarke_sliced_weight_rest(const clarke_sliced_weight *w)
{
  return w->whole ? 0 : ldexp(1, (int)w->cut.low - 1);
}
