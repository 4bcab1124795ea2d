/* Weights cut into digits: exactly, row by row. */
#include "network/slices/weight.h"

#include "base/wide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A plane of W with at most one entry of so many is a list. */
#define SPARSE 48
/* Places of the bits of doubles, from the least. */
#define EXPONENTS 2200
#define LEAST_EXPONENT 1075

/* By the place of their lowest bit, how many entries; *high: an exponent above all. */
static void
count_bits(size_t count[EXPONENTS], long *high, const double *v, size_t n)
{
  uint64_t most = 0;

  memset(count, 0, EXPONENTS * sizeof *count);
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
    count[exponent + (uint64_t)__builtin_ctzll(bits)]++;
  }
  *high = most > 0 ? (long)most - LEAST_EXPONENT + 53 : 0;
}

clarke_status
clarke_cut_weight_measure(clarke_slicing *f, const clarke_dense *d, clarke_cut_weight *w)
{
  const clarke_value *v = &f->g->values[d->weight];
  const long width = f->plan->width;
  size_t count[EXPONENTS], at = 0, below = 0;
  long high;

  count_bits(count, &high, v->real, v->count);
  while (at < EXPONENTS && count[at] == 0)
    at++;
  w->low = at == EXPONENTS ? 0 : clarke_slice_grid((long)at - LEAST_EXPONENT, width);
  w->planes = high <= w->low ? 1 : (size_t)((high - w->low) / width) + 1;
  if (w->planes > CLARKE_PLANES || labs(w->low) > 1000) {
    f->lost = true;
    return CLARKE_EINPUT;
  }
  w->dense = w->planes;
  for (size_t a = 0; a + 1 < w->planes && w->dense == w->planes - a; a++) {
    for (; (long)at - LEAST_EXPONENT < w->low + width * (long)(a + 1); at++)
      below += count[at];
    w->dense -= below * SPARSE <= v->count;
  }
  return CLARKE_OK;
}

/* Sums of a place stay below 2^52: the dense planes' products, and those of the lists. */
static bool
sums_fit(const clarke_slicing *f, size_t together, const clarke_cut_weight *w)
{
  const size_t most = together * (w->planes - w->dense), of_lists = w->n_listed < most ? w->n_listed : most;

  return ldexp((double)(w->dense * together + of_lists), 2 * (int)f->plan->width - 2) <= 0x1p52;
}

/* What is left of entry (block, row, column) under the dense planes, digit by digit. */
static clarke_status
list_entry(clarke_slicing *f, clarke_cut_weight *w, clarke_listed at, double left)
{
  for (size_t a = w->planes - w->dense; a-- > 0 && left != 0;) {
    const int low = (int)(w->low + f->plan->width * (long)a);

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
  }
  return CLARKE_OK;
}

CLARKE_WIDE static void
cut_plane(double *to, double *left, double unit, double part, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    to[i] = clarke_nearest_integer(left[i] * part);
    left[i] -= to[i] * unit;
  }
}

/* Row r of all blocks', from the highest plane down. left: room for a row. */
static clarke_status
cut_row(clarke_slicing *f, const clarke_dense *d, clarke_cut_weight *w, const double *v, double *left, size_t r)
{
  const size_t first = d->transposed ? r / d->outer * d->outer * d->inner + r % d->outer : r * d->inner;
  const size_t stride = d->transposed ? d->outer : 1;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < d->inner; i++)
    left[i] = v[first + i * stride];
  for (size_t a = w->dense; a-- > 0;) {
    const int low = (int)(w->low + f->plan->width * (long)(w->planes - w->dense + a));
    const double unit = ldexp(1, low), part = ldexp(1, -low);
    double *to = w->digit + (r * w->dense + a) * d->inner;

    cut_plane(to, left, unit, part, d->inner);
  }
  for (size_t i = 0; i < d->inner && w->dense < w->planes && status == CLARKE_OK; i++)
    if (left[i] != 0)
      status = list_entry(f, w, (clarke_listed){.row = r % d->outer, .column = i}, left[i]);
  return status;
}

clarke_status
clarke_cut_weight_make(clarke_slicing *f, const clarke_dense *d, const double *real, size_t together, clarke_cut_weight *w)
{
  const clarke_value *v = &f->g->values[d->weight];
  const size_t blocks = d->grouped ? d->blocks : 1;
  double *left = malloc((d->inner + 1) * sizeof *left);
  clarke_status status;

  w->digit = malloc((w->dense * v->count + 1) * sizeof *w->digit);
  w->begin = calloc(blocks + 1, sizeof *w->begin);
  status = left != NULL && w->digit != NULL && w->begin != NULL ? CLARKE_OK : clarke_no_memory(f->err);
  for (size_t r = 0; r < blocks * d->outer && status == CLARKE_OK; r++) {
    status = cut_row(f, d, w, real, left, r);
    w->begin[r / d->outer + 1] = w->n_listed;
  }
  free(left);
  if (status == CLARKE_OK && !sums_fit(f, together, w)) {
    f->lost = true;
    status = CLARKE_EINPUT;
  }
  return status;
}

void
clarke_cut_weight_clear(clarke_cut_weight *w)
{
  free(w->digit);
  free(w->list);
  free(w->begin);
}
