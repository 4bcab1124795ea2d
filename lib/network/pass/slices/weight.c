/* Weights cut into digits: exactly, row by row. */
#include "network/pass/slices/weight.h"

#include "base/wide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of doubles' bits, the place of the least. */
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

/* Do sums with digits of so many bits stay below 2^53, with what is carried from the place below? It is at most 2^(53 - width). */
static bool
sums_fit(double mass, long width)
{
  return ldexp(mass, (int)width - 1) <= 0x1p53 - ldexp(1, 53 - (int)width);
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
lay_planes(clarke_cut_weight *w, long unit, long least, size_t dense, long width)
{
  const long left = unit - width * (long)(dense - 1) - least;

  w->dense = dense;
  w->width = width;
  w->planes = dense + (left > 0 ? (size_t)((left + width - 1) / width) : 0);
  w->low = unit - width * (long)(w->planes - 1);
}

/* What an entry of the product costs, with digits as wide as sums allow, as a rule. */
static double
cost_of(clarke_cut_weight *w, const clarke_weight_bits *b, size_t inner, double sum, long bits, long unit, size_t dense)
{
  const double n = (double)inner, rows = fmax(1, (double)b->n / n);
  double mass, digits, of_rows;
  long width = WIDEST;

  for (; width >= NARROWEST; width--) {
    of_rows = (double)numbers_below(b, unit - width * (long)(dense - 1)) / rows;
    mass = ldexp(sum, (int)-unit) + (unit > b->low ? n / 2 : 0);
    mass += ldexp((double)(dense - 1) * n + 4 * of_rows, (int)width - 2);
    if (sums_fit(mass, width))
      break;
  }
  if (width < NARROWEST)
    return INFINITY;
  lay_planes(w, unit, b->low, dense, width);
  if (w->planes > CLARKE_PLANES || labs(w->low) > 1000)
    return INFINITY;
  digits = (double)((bits + 1 + width - 1) / width);
  return digits * ((double)dense * n + LISTED * of_rows * fmin(2, (double)(w->planes - dense))) +
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
      clarke_cut_weight here = {0};
      const double cost = cost_of(&here, b, inner, sum, bits, unit, dense);

      if (cost < least_cost)
        *w = here;
      least_cost = fmin(least_cost, cost);
      if (here.planes <= dense) /* there is nothing below */
        break;
    }
  return least_cost;
}

/* --- digits ---------------------------------------------------------------------------------- */

/* What is left of entry (block, row, column) under the dense planes, digit by digit; *size grows by theirs. */
static clarke_status
list_entry(clarke_slicing *f, clarke_cut_weight *w, clarke_listed at, double left, double *size)
{
  for (size_t a = w->planes - w->dense; a-- > 0 && left != 0;) {
    const int low = (int)(w->low + w->width * (long)a);

    if (w->n_listed == w->room) {
      clarke_listed *grown = realloc(w->list, (2 * w->room + 64) * sizeof *grown);

      if (grown == NULL)
        return clarke_no_memory(f->err);
      w->list = grown;
      w->room = 2 * w->room + 64;
    }
    at.plane = a;
    at.digit = clarke_nearest_integer(ldexp(left, -low));
    left -= ldexp(at.digit, low);
    if (at.digit != 0)
      w->list[w->n_listed++] = at;
    *size += fabs(at.digit);
  }
  return CLARKE_OK;
}

/* The sizes of the digits, together: exact below 2^53, and never less where it is more. */
CLARKE_WIDE static double
cut_plane(double *to, double *left, double unit, double part, size_t n)
{
  double size[8] = {0};
  size_t i = 0;

  for (; i + 8 <= n; i += 8)
    for (size_t l = 0; l < 8; l++) {
      to[i + l] = clarke_nearest_integer(left[i + l] * part);
      left[i + l] -= to[i + l] * unit;
      size[l] += fabs(to[i + l]);
    }
  for (; i < n; i++) {
    to[i] = clarke_nearest_integer(left[i] * part);
    left[i] -= to[i] * unit;
    size[0] += fabs(to[i]);
  }
  return ((size[0] + size[1]) + (size[2] + size[3])) + ((size[4] + size[5]) + (size[6] + size[7]));
}

/* Row r of all blocks', from the highest plane down. left: room for a row; mass, of_lists: grow by the sizes of its digits. */
static clarke_status
cut_row(clarke_slicing *f, const clarke_dense *d, clarke_cut_weight *w, const double *v, double *left, size_t r, double *mass,
        double *of_lists)
{
  const size_t first = d->transposed ? r / d->outer * d->outer * d->inner + r % d->outer : r * d->inner;
  const size_t stride = d->transposed ? d->outer : 1;
  double size = 0;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < d->inner; i++)
    left[i] = v[first + i * stride];
  for (size_t a = w->dense; a-- > 0;) {
    const int low = (int)(w->low + w->width * (long)(w->planes - w->dense + a));

    *mass += cut_plane(w->digit + (r * w->dense + a) * d->inner, left, ldexp(1, low), ldexp(1, -low), d->inner);
  }
  for (size_t i = 0; i < d->inner && w->dense < w->planes && status == CLARKE_OK; i++)
    if (left[i] != 0)
      status = list_entry(f, w, (clarke_listed){.row = r % d->outer, .column = i}, left[i], &size);
  *mass += size;
  *of_lists += size;
  return status;
}

/* All rows. room: for one; mass: for blocks * apart sums, and as many of lists'. */
static clarke_status
cut_rows(clarke_slicing *f, const clarke_dense *d, const double *real, size_t apart, clarke_cut_weight *w, double *room,
         double *mass)
{
  const size_t blocks = d->grouped ? d->blocks : 1, sums = blocks * apart;
  clarke_status status = CLARKE_OK;

  w->n_listed = 0;
  w->mass = w->of_lists = 0;
  memset(mass, 0, 2 * sums * sizeof *mass);
  for (size_t r = 0; r < blocks * d->outer && status == CLARKE_OK; r++) {
    const size_t sum = r / d->outer * apart + r % d->outer % apart;

    status = cut_row(f, d, w, real, room, r, &mass[sum], &mass[sums + sum]);
    w->begin[r / d->outer + 1] = w->n_listed;
  }
  for (size_t s = 0; s < sums; s++) {
    w->mass = fmax(w->mass, mass[s]);
    w->of_lists = fmax(w->of_lists, mass[sums + s]);
  }
  return status;
}

clarke_status
clarke_cut_weight_make(clarke_slicing *f, const clarke_dense *d, const double *real, size_t apart, clarke_cut_weight *w)
{
  const size_t blocks = d->grouped ? d->blocks : 1;
  double *room = malloc((d->inner + 1) * sizeof *room), *mass = malloc((2 * blocks * apart + 1) * sizeof *mass);
  clarke_status status;

  w->digit = malloc((w->dense * blocks * d->outer * d->inner + 1) * sizeof *w->digit);
  w->begin = calloc(blocks + 1, sizeof *w->begin);
  status = room != NULL && mass != NULL && w->digit != NULL && w->begin != NULL ? CLARKE_OK : clarke_no_memory(f->err);
  if (status == CLARKE_OK)
    status = cut_rows(f, d, real, apart, w, room, mass);
  while (status == CLARKE_OK && !sums_fit(w->mass, w->width)) {
    const long unit = w->low + w->width * (long)(w->planes - 1);

    lay_planes(w, unit, w->low, w->dense, w->width - 1);
    f->lost = w->width < NARROWEST || w->planes > CLARKE_PLANES || labs(w->low) > 1000;
    status = f->lost ? CLARKE_EINPUT : cut_rows(f, d, real, apart, w, room, mass);
  }
  free(room);
  free(mass);
  return status;
}

void
clarke_cut_weight_clear(clarke_cut_weight *w)
{
  free(w->digit);
  free(w->list);
  free(w->begin);
}
