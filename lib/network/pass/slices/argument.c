/* Digits made others: planes of one width, lowest first, become those of another. */
#include "network/pass/slices/argument.h"

#include "base/wide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

CLARKE_WIDE static void
add_plane(double *to, const float *digit, double unit, size_t n)
{
  for (size_t e = 0; e < n; e++)
    to[e] += unit * (double)digit[e];
}

/* The multiples of `unit` go to `high`, in its units; what is left to `low`, times place. */
CLARKE_WIDE static void
split_plane(double *high, double *low, const float *digit, double unit, double place, size_t n)
{
  const double part = 1 / unit;

  for (size_t e = 0; e < n; e++) {
    const double multiple = clarke_nearest_integer((double)digit[e] * part);

    high[e] += multiple;
    low[e] += ((double)digit[e] - multiple * unit) * place;
  }
}

CLARKE_WIDE static void
take_digits(float *to, double *pending, double unit, size_t n)
{
  const double part = 1 / unit;

  for (size_t e = 0; e < n; e++) {
    const double carry = clarke_nearest_integer(pending[e] * part);

    to[e] = (float)(pending[e] - carry * unit);
    pending[e] = carry;
  }
}

void
clarke_digits_take(float *to, double *pending, double unit, size_t n)
{
  take_digits(to, pending, unit, n);
}

CLARKE_WIDE static bool
is_within(const double *v, double size, size_t n)
{
  size_t beyond = 0;

  for (size_t e = 0; e < n; e++)
    beyond += !(fabs(v[e]) <= size);
  return beyond == 0;
}

/* len entries from `at` on, of at most a block. Each plane of x stands at a place between that of the pending digit and the next: what
 * is pending has no more bits than two digits. false: something is left, or the tail is too large. */
static bool
recut_block(const clarke_slicing *f, const clarke_sliced *x, clarke_recut *r, size_t at, size_t len)
{
  const long width = f->plan->width;
  const size_t entries = x->rows * f->n, whole = (size_t)((r->cut - x->low) / width);
  const double unit = ldexp(1, (int)r->width);
  const int part = (int)((r->cut - x->low) % width);
  double pending[CLARKE_SLICE_BLOCK] = {0}, tail[CLARKE_SLICE_BLOCK] = {0};
  size_t j = 0;

  for (size_t k = 0; k < x->planes; k++) {
    const float *digit = x->digit + k * entries + at;
    const long place = x->low + width * (long)k;

    if (k < whole)
      add_plane(tail, digit, ldexp(1, (int)(width * (long)k)), len);
    else if (k == whole && part > 0)
      split_plane(pending, tail, digit, ldexp(1, part), ldexp(1, (int)(width * (long)k)), len);
    else {
      for (; j < r->planes && r->cut + r->width * (long)(j + 1) <= place; j++)
        take_digits(r->digit + j * entries + at, pending, unit, len);
      add_plane(pending, digit, ldexp(1, (int)(place - r->cut - r->width * (long)j)), len);
    }
  }
  for (; j < r->planes; j++)
    take_digits(r->digit + j * entries + at, pending, unit, len);
  if (r->tail != NULL)
    memcpy(r->tail + at, tail, len * sizeof *tail);
  return is_within(pending, 0, len) && is_within(tail, r->tail != NULL ? r->bound.size : 0, len);
}

/* --- sizes ----------------------------------------------------------------------------------- */

/* The sum of the squares of a block's digits, which is exact: 2^8 of at most 2^42; *most: at least what it was and each |digit|. */
CLARKE_WIDE static double
measure_block(const float *digit, size_t len, float *most)
{
  double square[8] = {0}, sum = 0;
  float part[8] = {0};
  size_t i = 0;

  for (; i + 8 <= len; i += 8)
    for (size_t l = 0; l < 8; l++) {
      const float size = fabsf(digit[i + l]);

      part[l] = size > part[l] ? size : part[l];
      square[l] += (double)size * (double)size;
    }
  for (; i < len; i++) {
    part[0] = fabsf(digit[i]) > part[0] ? fabsf(digit[i]) : part[0];
    square[0] += (double)digit[i] * (double)digit[i];
  }
  for (size_t l = 0; l < 8; l++) {
    *most = part[l] > *most ? part[l] : *most;
    sum += square[l];
  }
  return sum;
}

void
clarke_plane_measure(const clarke_slicing *f, const clarke_sliced *x, size_t plane, double *largest, double *norm)
{
  const float *digit = x->digit + plane * x->rows * f->n;
  double square = 0;
  float most = 0;

  for (size_t e = 0; e < x->rows * f->n; e += CLARKE_SLICE_BLOCK) {
    const size_t left = x->rows * f->n - e;

    square += measure_block(digit + e, left < CLARKE_SLICE_BLOCK ? left : CLARKE_SLICE_BLOCK, &most);
  }
  *largest = (double)most;
  *norm = clarke_up_by(sqrt(square), 0x1p12 + (double)(x->rows * f->n) / 2);
}

clarke_tail_bound
clarke_tail_grow(const clarke_slicing *f, const clarke_sliced *x, clarke_tail_bound below, size_t plane, long bits)
{
  const double place = ldexp(1, (int)(f->plan->width * (long)plane)), most = ldexp(place, (int)bits - 1);
  const double entries = (double)x->rows * (double)f->n;
  double largest, norm;

  if (bits < f->plan->width) /* the nearest multiple of 2^bits is no farther */
    return (clarke_tail_bound){clarke_slice_up(below.size + most), clarke_slice_up(below.norm + clarke_slice_up(most * sqrt(entries)))};
  clarke_plane_measure(f, x, plane, &largest, &norm);
  return (clarke_tail_bound){clarke_slice_up(below.size + largest * place), clarke_slice_up(below.norm + norm * place)};
}

/* Other digits stand for a number that is off by less than a place: no digits' carry is more. */
long
clarke_recut_top(const clarke_slicing *f, const clarke_sliced *x, double largest, long cut)
{
  const double most = ldexp(largest + 1, (int)(x->low + f->plan->width * (long)(x->planes - 1)));
  int top;

  frexp(clarke_slice_up(most + ldexp(1, (int)cut + 1)), &top);
  return top;
}

clarke_status
clarke_recut_make(clarke_slicing *f, const clarke_sliced *x, clarke_recut *r)
{
  const size_t entries = x->rows * f->n;
  bool fits = true;

  r->digit = malloc((r->planes * entries + 1) * sizeof *r->digit);
  r->tail = r->joined > 0 ? malloc((entries + 1) * sizeof *r->tail) : NULL;
  if (r->digit == NULL || (r->joined > 0 && r->tail == NULL))
    return clarke_no_memory(f->err);
  for (size_t at = 0; at < entries; at += CLARKE_SLICE_BLOCK)
    fits = recut_block(f, x, r, at, entries - at < CLARKE_SLICE_BLOCK ? entries - at : CLARKE_SLICE_BLOCK) && fits;
  f->lost = f->lost || !fits;
  return CLARKE_OK;
}

void
clarke_recut_clear(clarke_recut *r)
{
  free(r->digit);
  free(r->tail);
}
