/* Products in slices: every product of two planes is exact in doubles, in any order, with what is carried from the place below. What
 * sums of one place after another, lowest first, are of becomes digits of the value's own places. */
#include "network/pass/slices/multiply.h"

#include "base/wide.h"

#include <cblas.h>
#undef I
#include <math.h>
#include <string.h>

/* --- columns ---------------------------------------------------------------------------------- */

/* Places r and on of a row of columns, of at most so many, that the map takes from rows one after another, or from none: *from
 * is the first of these. */
static size_t
next_rows(const clarke_slice_product *p, size_t row, size_t r, size_t places, size_t *from)
{
  const clarke_operand map = {.map = (size_t *)p->map};

  *from = clarke_operand_entry(&map, row + r);
  return clarke_operand_run(&map, row + r, row + places);
}

CLARKE_WIDE static void
widen_entries(double *to, const float *digit, size_t n)
{
  for (size_t e = 0; e < n; e++)
    to[e] = (double)digit[e];
}

/* The columns of `places` places of block b, from `first` on, plane by plane. */
static void
gather_columns(const clarke_slicing *f, const clarke_slice_product *p, size_t b, size_t first, size_t places)
{
  const clarke_dense *d = p->d;
  const size_t width = places * f->n;

  for (size_t k = 0; k < p->cut.planes; k++) {
    const float *digit = p->cut.digit + k * p->x->rows * f->n;
    double *to = p->panel + (p->cut.planes - 1 - k) * d->inner * width;

    for (size_t i = 0; i < d->inner; i++) {
      const size_t row = (b * d->inner + i) * d->repeat + first;

      for (size_t r = 0, run, from; r < places; r += run) {
        run = next_rows(p, row, r, places, &from);
        if (from == CLARKE_NONE)
          memset(to + i * width + r * f->n, 0, run * f->n * sizeof *to);
        else
          widen_entries(to + i * width + r * f->n, digit + from * f->n, run * f->n);
      }
    }
  }
}

CLARKE_WIDE static void
add_numbers(double *to, const double *from, size_t n)
{
  for (size_t e = 0; e < n; e++)
    to[e] += from[e];
}

/* Columns' tails, and W times them: longer sums in parts, which are near when they are added. */
static void
multiply_tail(const clarke_slicing *f, const clarke_slice_product *p, long low, size_t b, size_t first, size_t places)
{
  const clarke_dense *d = p->d;
  const size_t width = places * f->n;
  const double *w = f->g->values[d->weight].real + (d->grouped ? b * d->outer * d->inner : 0);
  double *to = p->panel + p->cut.planes * d->inner * width;

  for (size_t i = 0; i < d->inner; i++)
    for (size_t r = 0, run, from; r < places; r += run) {
      run = next_rows(p, (b * d->inner + i) * d->repeat + first, r, places, &from);
      if (from == CLARKE_NONE)
        memset(to + i * width + r * f->n, 0, run * f->n * sizeof *to);
      else
        memcpy(to + i * width + r * f->n, p->cut.tail + from * f->n, run * f->n * sizeof *to);
    }
  for (size_t k = 0; k < d->inner; k += CLARKE_SUMMED) {
    const size_t len = d->inner - k < CLARKE_SUMMED ? d->inner - k : CLARKE_SUMMED;

    cblas_dgemm(CblasRowMajor, d->transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, (int)d->outer, (int)width, (int)len,
                ldexp(1, (int)(p->x->low - low)), w + (d->transposed ? k * d->outer : k),
                (int)(d->transposed ? d->outer : d->inner), to + k * width, (int)width, 0, k == 0 ? p->rest : p->part,
                (int)width);
    if (k > 0)
      add_numbers(p->rest, p->part, d->outer * width);
  }
}

/* --- sums of a place --------------------------------------------------------------------------- */

/* to[o][r] += made[t, o][the pixel that tap t of window r reads]. */
static void
move_taps(const clarke_slicing *f, const clarke_slice_product *p, double *to)
{
  const clarke_operand map = {.map = (size_t *)p->map};
  const size_t repeat = p->d->repeat, width = p->done.repeat * f->n;

  for (size_t t = 0; t < p->taps; t++)
    for (size_t r = 0, run; r < repeat; r += run) {
      const size_t from = clarke_operand_entry(&map, t * repeat + r);

      run = clarke_operand_run(&map, t * repeat + r, (t + 1) * repeat);
      for (size_t o = 0; o < p->d->outer && from != CLARKE_NONE; o++)
        add_numbers(to + (o * repeat + r) * f->n, p->made + (t * p->d->outer + o) * width + from * f->n, run * f->n);
    }
}

/* made += the products of place s. */
static void
add_planes(const clarke_slice_product *p, size_t b, size_t s, size_t width)
{
  const clarke_dense *d = &p->done;
  const size_t row = d->grouped ? b * d->outer : 0, plane = d->inner * width;
  clarke_digit_matrix w = p->w.m;
  const clarke_digit_matrix x = {.digit = p->panel + (p->cut.planes - 1) * plane, .apart = -(ptrdiff_t)plane, .stride = width,
                                 .planes = p->cut.planes, .width = w.width};

  w.digit += row * w.stride;
  clarke_digits_multiply(&(clarke_digit_product){.a = &w, .b = &x, .rows = d->outer, .cols = width, .inner = d->inner, .a_row = row,
                                                 .room = INFINITY, .sum = p->made},
                         s * (size_t)w.width);
}

/* sum += the products of place s. */
static void
add_place(const clarke_slicing *f, const clarke_slice_product *p, size_t b, size_t s, size_t width)
{
  if (p->taps == 0) {
    add_planes(p, b, s, width);
    return;
  }
  memset(p->made, 0, p->done.outer * p->done.repeat * f->n * sizeof *p->made);
  add_planes(p, b, s, p->done.repeat * f->n);
  move_taps(f, p, p->sum);
}

/* --- digits ------------------------------------------------------------------------------------ */

/* Bits of what is pending, at most. */
#define MOST_PENDING 50

/* What is left for the digits of y at one of its places, `at`, and above. */
typedef struct {
  const clarke_slice_product *p;
  clarke_sliced *y;
  size_t out, width, entries;
  long at;
  double unit; /* of a digit of y */
} pending;

/* The rest's part below the next place, rounded to integers; what is above stays. */
CLARKE_WIDE static void
split_rest(double *to, double *rest, double unit, size_t n)
{
  const double part = 1 / unit;

  for (size_t e = 0; e < n; e++) {
    const double above = clarke_nearest_integer(rest[e] * part);

    to[e] = clarke_nearest_integer(rest[e] - above * unit);
    rest[e] = above;
  }
}

/* The sums' lowest digits go to `to`, in units of which they are `by`; what is carried stays. */
CLARKE_WIDE static void
hand_digits(double *to, double *sum, double unit, double by, size_t n)
{
  const double part = 1 / unit;

  for (size_t e = 0; e < n; e++) {
    const double carry = clarke_nearest_integer(sum[e] * part);

    to[e] += (sum[e] - carry * unit) * by;
    sum[e] = carry;
  }
}

/* The same where units are less than 1: the digit is rounded. */
CLARKE_WIDE static void
round_digits(double *to, double *sum, double unit, double by, size_t n)
{
  const double part = 1 / unit;

  for (size_t e = 0; e < n; e++) {
    const double carry = clarke_nearest_integer(sum[e] * part);

    to[e] += clarke_nearest_integer((sum[e] - carry * unit) * by);
    sum[e] = carry;
  }
}

/* Digits of y's place; the next is pending. */
static void
next_place(const clarke_slicing *f, pending *q)
{
  const size_t repeat = q->p->d->repeat * f->n;

  for (size_t o = 0; o < q->p->d->outer; o++)
    clarke_digits_take(q->y->digit + (size_t)q->at * q->y->rows * f->n + q->out + o * repeat, q->p->pending + o * q->width, q->unit, q->width);
  q->at++;
  if (q->at == 1 && q->p->cut.joined > 0)
    add_numbers(q->p->pending, q->p->rest, q->entries);
}

/* The lowest digit of the sums of a place goes where it belongs; it is `place` bits above y's lowest place. What is all below that is
 * left out, or rounded: less than 4/5 of a unit of it together (1/2, 1/4, and 2^-width of that again and again). Above y's places it stays pending, to cancel: false where it is too far above. */
static bool
hand_on(const clarke_slicing *f, pending *q, long place)
{
  const long width = q->p->cut.width;
  const double unit = ldexp(1, (int)width);

  while (q->at < (long)q->y->planes && f->plan->width * (q->at + 1) <= place)
    next_place(f, q);
  if (place + width <= 0)
    hand_digits(q->p->pending, q->p->sum, unit, 0, q->entries);
  else if (place < 0)
    round_digits(q->p->pending, q->p->sum, unit, ldexp(1, (int)place), q->entries);
  else if (place + width - f->plan->width * q->at <= MOST_PENDING)
    hand_digits(q->p->pending, q->p->sum, unit, ldexp(1, (int)(place - f->plan->width * q->at)), q->entries);
  else
    return false;
  return true;
}

static bool
is_zero(const double *v, size_t n)
{
  for (size_t e = 0; e < n; e++)
    if (v[e] != 0)
      return false;
  return true;
}

/* Sums become digits of y: rows of `width` columns of block b, from `out` on. */
static void
make_digits(clarke_slicing *f, const clarke_slice_product *p, clarke_sliced *y, size_t b, size_t out, size_t width)
{
  const size_t places = p->cut.planes > 0 ? p->w.m.planes + p->cut.planes - 1 : 0;
  pending q = {.p = p, .y = y, .out = out, .width = width, .entries = p->d->outer * width, .unit = ldexp(1, (int)f->plan->width)};

  memset(p->sum, 0, q.entries * sizeof *p->sum);
  if (p->cut.joined > 0)
    split_rest(p->pending, p->rest, q.unit, q.entries);
  else
    memset(p->pending, 0, q.entries * sizeof *p->pending);
  for (size_t s = p->first; s < places || !is_zero(p->sum, q.entries); s++) {
    if (s < places)
      add_place(f, p, b, s, width);
    if (!hand_on(f, &q, p->w.m.low + p->cut.cut + p->cut.width * (long)s - y->low)) {
      f->lost = true;
      return;
    }
  }
  while (q.at < (long)y->planes)
    next_place(f, &q);
  f->lost = f->lost || !is_zero(p->pending, q.entries);
}

/* --- products ---------------------------------------------------------------------------------- */

/* Places `first` and on of block b of y. */
static void
multiply_columns(clarke_slicing *f, const clarke_slice_product *p, clarke_sliced *y, size_t b, size_t first,
                 size_t places)
{
  gather_columns(f, p, b, first, places);
  if (p->cut.joined > 0)
    multiply_tail(f, p, y->low, b, first, places);
  make_digits(f, p, y, b, (b * p->d->outer * p->d->repeat + first) * f->n, places * f->n);
}

/* All of y: each tap's products of x's planes, as they are, moved to the windows. */
static void
multiply_taps(clarke_slicing *f, const clarke_slice_product *p, clarke_sliced *y)
{
  const clarke_dense *d = &p->done;
  const size_t width = d->repeat * f->n, out = p->d->repeat * f->n, plane = d->inner * width;

  for (size_t k = 0; k < p->cut.planes; k++)
    widen_entries(p->panel + (p->cut.planes - 1 - k) * plane, p->cut.digit + k * plane, plane);
  if (p->cut.joined > 0) {
    memset(p->rest, 0, p->d->outer * out * sizeof *p->rest);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)d->outer, (int)width, (int)d->inner,
                ldexp(1, (int)(p->x->low - y->low)), p->turned, (int)d->inner, p->cut.tail, (int)width, 0, p->made, (int)width);
    move_taps(f, p, p->rest);
  }
  make_digits(f, p, y, 0, 0, out);
}

void
clarke_slice_multiply(clarke_slicing *f, const clarke_slice_product *p, clarke_sliced *y)
{
  const clarke_dense *d = p->d;

  if (p->taps > 0)
    multiply_taps(f, p, y);
  for (size_t b = 0; b < d->blocks && p->taps == 0; b++)
    for (size_t first = 0; first < d->repeat; first += p->places)
      multiply_columns(f, p, y, b, first, d->repeat - first < p->places ? d->repeat - first : p->places);
}
