/* Weights cut into digits: exactly, row by row. */
#include "network/pass/slices/weight.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The place of the least of doubles' bits. */
#define LEAST_EXPONENT 1075
/* What an entry of a list costs, and handing on the sum of a place, in multiplications of a dense plane. */
#define LISTED 16
#define PLACE_WORK 16
/* Bits of the highest plane at most and at least, and of a digit, and planes that are dense at most. */
#define MOST_BITS 40
#define LEAST_BITS 4
#define WIDEST 24
#define NARROWEST 4
#define MOST_DENSE 8

/* --- how ------------------------------------------------------------------------------------- */

void
clarke_weight_bits_count(clarke_weight_bits *b, const double *v, size_t n)
{
  uint64_t most = 0;
  size_t at = 0;

  memset(b, 0, sizeof *b);
  b->n = n;
  for (size_t e = 0; e < n; e++) {
    const uint64_t hidden = (uint64_t)1 << 52;
    uint64_t bits, exponent;

    memcpy(&bits, &v[e], sizeof bits);
    exponent = bits >> 52 & 0x7ff;
    bits = (bits & (hidden - 1)) | (exponent > 0 ? hidden : 0);
    if (bits == 0)
      continue;
    exponent = exponent > 0 ? exponent : 1;
    most = exponent > most ? exponent : most;
    b->below[exponent + (uint64_t)__builtin_ctzll(bits) + 1]++;
  }
  while (at < CLARKE_EXPONENTS && b->below[at + 1] == 0)
    at++;
  b->low = most > 0 ? (long)at - LEAST_EXPONENT : 0;
  b->high = most > 0 ? (long)most - LEAST_EXPONENT + 53 : 0;
  for (size_t e = 0; e < CLARKE_EXPONENTS; e++)
    b->below[e + 1] += b->below[e];
}

/* Numbers that have bits below 2^exponent. */
static size_t
numbers_below(const clarke_weight_bits *b, long exponent)
{
  const long at = exponent + LEAST_EXPONENT;

  return b->below[at < 0 ? 0 : at > CLARKE_EXPONENTS ? CLARKE_EXPONENTS : at];
}

/* The planes of W where the highest has the unit 2^unit, so many are dense, and digits have width bits. */
static void
lay_planes(clarke_digit_matrix *w, long unit, long least, size_t dense, long width)
{
  const long left = unit - width * (long)(dense - 1) - least;

  w->width = width;
  w->first = left > 0 ? (size_t)((left + width - 1) / width) : 0;
  w->planes = w->first + dense;
  w->low = unit - width * (long)(w->planes - 1);
}

/* What an entry of the product costs, with digits as wide as sums allow, as a rule. */
static double
cost_of(clarke_digit_matrix *w, const clarke_weight_bits *b, size_t inner, double sum, long bits, long unit, size_t dense)
{
  const double n = (double)inner, rows = fmax(1, (double)b->n / n);
  double mass, digits, of_rows;
  long width = WIDEST;

  for (; width >= NARROWEST; width--) {
    of_rows = (double)numbers_below(b, unit - width * (long)(dense - 1)) / rows;
    mass = ldexp(sum, (int)-unit) + (unit > b->low ? n / 2 : 0);
    mass += ldexp((double)(dense - 1) * n + 4 * of_rows, (int)width - 2);
    if (mass <= clarke_digits_room(width, true))
      break;
  }
  if (width < NARROWEST)
    return INFINITY;
  lay_planes(w, unit, b->low, dense, width);
  if (w->planes > CLARKE_PLANES || labs(w->low) > 1000)
    return INFINITY;
  digits = (double)((bits + 1 + width - 1) / width);
  return digits * ((double)dense * n + LISTED * of_rows * fmin(2, (double)w->first)) +
         PLACE_WORK * (digits + (double)w->planes);
}

double
clarke_cut_weight_choose(clarke_cut_weight *w, const clarke_weight_bits *b, size_t inner, double sum, long bits)
{
  const long most = b->high - LEAST_BITS > b->low ? b->high - LEAST_BITS : b->low;
  const long least = b->high - MOST_BITS > b->low ? b->high - MOST_BITS : b->low;
  double least_cost = INFINITY;

  for (long unit = least; unit <= most; unit++)
    for (size_t dense = 1; dense <= MOST_DENSE; dense++) {
      clarke_digit_matrix here = {0};
      const double cost = cost_of(&here, b, inner, sum, bits, unit, dense);

      if (cost < least_cost)
        w->m = here;
      least_cost = fmin(least_cost, cost);
      if (here.planes <= dense) /* there is nothing below */
        break;
    }
  return least_cost;
}

/* --- digits ---------------------------------------------------------------------------------- */

/* The sizes of the digits of rows, together, of which those whose numbers are equal modulo `apart` make one sum. room: for all rows, and
 * as many. */
static void
find_mass(clarke_cut_weight *w, size_t rows, clarke_digit_layout l, size_t apart, double *room)
{
  double *of_lists = room + rows;

  w->mass = w->of_lists = 0;
  memset(room, 0, 2 * rows * sizeof *room);
  for (size_t s = 0; s < w->m.planes; s++)
    clarke_digits_measure(s < w->m.first ? of_lists : room, &w->m, s, rows, l.inner, l.inner);
  for (size_t r = 0; r < rows; r++)
    room[r] += of_lists[r];
  for (size_t r = 0; r < rows; r++)
    if (r % l.rows >= apart) {
      room[r - r % l.rows + r % l.rows % apart] += room[r];
      of_lists[r - r % l.rows + r % l.rows % apart] += of_lists[r];
    }
  for (size_t r = 0; r < rows; r++)
    if (r % l.rows < apart) {
      w->mass = fmax(w->mass, room[r]);
      w->of_lists = fmax(w->of_lists, of_lists[r]);
    }
}

/* Digits of what was chosen, anew. */
static clarke_status
cut(clarke_slicing *f, clarke_cut_weight *w, const double *real, clarke_digit_layout l, size_t blocks, size_t apart, double *room)
{
  bool whole;
  clarke_status status;

  clarke_digits_clear(&w->m);
  w->m.apart = (ptrdiff_t)l.inner;
  w->m.stride = (w->m.planes - w->m.first) * l.inner;
  status = clarke_digits_cut(&w->m, &whole, real, l, blocks, w->m.planes - w->m.first, f->err);
  if (status != CLARKE_OK)
    return status;
  f->lost = f->lost || !whole;
  for (size_t s = 0; s < w->m.planes; s++)
    w->m.plane[s].reach = l.inner;
  find_mass(w, blocks * l.rows, l, apart, room);
  return CLARKE_OK;
}

clarke_status
clarke_cut_weight_make(clarke_slicing *f, const clarke_dense *d, const double *real, size_t apart, clarke_cut_weight *w)
{
  const size_t blocks = d->grouped ? d->blocks : 1;
  const clarke_digit_layout layout = {d->transposed, d->outer, d->inner};
  double *room = malloc((2 * blocks * d->outer + 1) * sizeof *room);
  clarke_status status = room != NULL ? cut(f, w, real, layout, blocks, apart, room) : clarke_no_memory(f->err);

  while (status == CLARKE_OK && w->mass > clarke_digits_room(w->m.width, true)) {
    const long unit = w->m.low + w->m.width * (long)(w->m.planes - 1), width = w->m.width - 1;
    clarke_digit_matrix next = {0};

    lay_planes(&next, unit, w->m.low, w->m.planes - w->m.first, width);
    clarke_digits_clear(&w->m);
    w->m = next;
    f->lost = width < NARROWEST || next.planes > CLARKE_PLANES || labs(next.low) > 1000;
    status = f->lost ? CLARKE_EINPUT : cut(f, w, real, layout, blocks, apart, room);
  }
  free(room);
  return status;
}

void
clarke_cut_weight_clear(clarke_cut_weight *w)
{
  clarke_digits_clear(&w->m);
}
