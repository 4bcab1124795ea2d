/* Loops over entries (sieve_wide.h). */
#include "trace/certify/sieve_wide.h"

#include <math.h>
#include <string.h>

/* Bounds are judged less 2^-10 of themselves: as if so many roundings had made them. */
#define ROUNDED 0x1p42
/* An entry's `off` is added up of fewer numbers. */
#define ADDED 0x1p31
/* Entries that are judged at a time. */
#define CHUNK 256

/* --- lines --- */

double *
clarke_sieve_line_room(clarke_sieve *s, size_t n)
{
  return clarke_sieve_take_doubles(s, 2 * n);
}

clarke_sieve_line
clarke_sieve_line_of(const clarke_sieve_numbers *x, size_t at, size_t n, double *buffer)
{
  if (x->exact == NULL)
    return (clarke_sieve_line){x->near + at, x->off + at, x->may + at};
  clarke_sieve_widen(buffer, x->exact + at, n);
  memset(buffer + n, 0, n * sizeof *buffer); /* lines of several lengths may take turns in it */
  return (clarke_sieve_line){buffer, buffer + n, buffer + n};
}

clarke_sieve_sums
clarke_sieve_sums_of(const clarke_sieved *v, size_t e)
{
  return (clarke_sieve_sums){v->near + e, v->off + e, v->may + e, v->mass != NULL ? v->mass + e : NULL};
}

/* At most |what it should be|. */
static inline double
size_of(double near, double off)
{
  const double size = fabs(near) - off;

  return size > 0 ? size : 0;
}

/* --- sums --- */

CLARKE_WIDE static void
add_line(double *restrict near, double *restrict off, double *restrict may, double *restrict mass, const clarke_sieve_line *line, double coef,
         double errors, size_t n)
{
  const clarke_sieve_line x = *line;

  for (size_t j = 0; j < n; j++) {
    off[j] += x.off[j];
    clarke_sieve_plus(&near[j], &off[j], coef * x.near[j]);
    may[j] += x.may[j];
    mass[j] += size_of(x.near[j], x.off[j]) + errors * x.may[j];
  }
}

void
clarke_sieve_add_line(const clarke_sieve_sums *to, const clarke_sieve_line *x, double coef, double errors, size_t n)
{
  add_line(to->near, to->off, to->may, to->mass, x, coef, errors, n);
}

CLARKE_WIDE static void
join_moved(double *restrict near, double *restrict off, double *restrict mass, unsigned char *restrict joined, const double *restrict x,
           double coef, size_t n)
{
  for (size_t j = 0; j < n; j++) {
    const double moved = coef * x[j];
    const unsigned char more = (unsigned char)(joined[j] + (joined[j] < 2));

    clarke_sieve_plus(&near[j], &off[j], moved);
    mass[j] += fabs(moved);
    joined[j] = moved != 0 ? more : joined[j];
  }
}

void
clarke_sieve_join_moved_line(const clarke_sieve_sums *to, unsigned char *joined, const double *x, double coef, size_t n)
{
  join_moved(to->near, to->off, to->mass, joined, x, coef, n);
}

CLARKE_WIDE static void
add_number(double *restrict near, double *restrict off, double *restrict mass, double number, size_t n)
{
  for (size_t j = 0; j < n; j++) {
    clarke_sieve_plus(&near[j], &off[j], number);
    mass[j] += fabs(number);
  }
}

void
clarke_sieve_add_number(const clarke_sieve_sums *to, double number, size_t n)
{
  add_number(to->near, to->off, to->mass, number, n);
}

/* --- products --- */

/* A number, not a choice: so it is found without a branch. */
static inline int
is_float(double x)
{
  return (double)(float)x == x;
}

static inline bool
is_power(double c)
{
  int exponent;

  return fabs(frexp(c, &exponent)) == 0.5;
}

/* What x c = y is off by: `whole`, nothing. */
static inline double
lost_of(double y, bool whole)
{
  const double lost = clarke_taken(2, fabs(y)) + CLARKE_SIEVE_LEAST;

  return whole ? 0 : lost;
}

double
clarke_sieve_times(double *lost, double x, double c)
{
  const double y = x * c;

  *lost = lost_of(y, x == 0 || c == 0 || (is_float(x) && is_float(c)) || is_power(c));
  return y;
}

/* A factor that was looked at. A float's products are exact if it is one, too; of a power of 2 all are. */
typedef struct {
  double c, size, gamma;
  double apart; /* from so far off a float on products may be inexact: 0; or -1: from anywhere */
  double keep;  /* 0: all are exact; else 1 */
  double part, least; /* of a divisor that is off by a part of itself: that, and what underflow takes; else 0 */
} known_factor;

static known_factor
look_at(const clarke_sieve_factor *by)
{
  const double size = (by->divide ? 1 / fabs(by->c) : fabs(by->c)) * (1 + 2 * by->part);

  return (known_factor){.c = by->c, .size = size, .gamma = size == 1 ? 0 : by->gamma, .apart = is_float(by->c) ? 0 : -1,
                        .keep = is_power(by->c) || by->c == 0 ? 0 : 1, .part = by->part, .least = by->part > 0 ? CLARKE_SIEVE_LEAST : 0};
}

/* Some of a line, scaled; and what that is off by. */
typedef struct {
  double near[CHUNK], lost[CHUNK];
} scaled;

CLARKE_WIDE static void
multiply_line(scaled *restrict to, const double *restrict x, const known_factor *factor, size_t n)
{
  const double c = factor->c, apart = factor->apart, keep = factor->keep;

  for (size_t j = 0; j < n; j++) {
    const double y = x[j] * c;

    to->near[j] = y;
    to->lost[j] = keep * lost_of(y, (x[j] == 0) | (fabs(x[j] - (double)(float)x[j]) <= apart));
  }
}

/* A quotient is exact where that times c is x, and is itself exact; if c is, too. */
CLARKE_WIDE static void
divide_line(scaled *restrict to, const double *restrict x, const known_factor *factor, size_t n)
{
  const double c = factor->c, apart = factor->apart, keep = factor->keep, part = factor->part, least = factor->least;

  for (size_t j = 0; j < n; j++) {
    const double y = x[j] / c, back = y * c;

    to->near[j] = y;
    to->lost[j] = keep * lost_of(y, (back == x[j]) & ((y == 0) | (fabs(y - (double)(float)y) <= apart)))
                + (x[j] == 0 ? 0 : 2 * part * fabs(y) + least);
  }
}

CLARKE_WIDE static void
set_scaled(const scaled *restrict y, double *restrict near, double *restrict off, double *restrict may, const clarke_sieve_line *line,
           const known_factor *by, size_t n)
{
  const clarke_sieve_line x = *line;
  const double size = by->size, gamma = by->gamma;

  for (size_t j = 0; j < n; j++) {
    near[j] = y->near[j];
    off[j] = clarke_up_by(size * x.off[j], 4) + y->lost[j];
    may[j] = size * (x.may[j] + gamma * (size_of(x.near[j], x.off[j]) + x.may[j]));
  }
}

CLARKE_WIDE static void
join_scaled(const scaled *restrict y, double *restrict near, double *restrict off, double *restrict may, double *restrict mass,
            const clarke_sieve_line *line, const known_factor *by, size_t n)
{
  const clarke_sieve_line x = *line;
  const double size = by->size, gamma = by->gamma;

  for (size_t j = 0; j < n; j++) {
    const double whole = size * size_of(x.near[j], x.off[j]);

    off[j] += clarke_up_by(size * x.off[j], 4) + y->lost[j];
    clarke_sieve_plus(&near[j], &off[j], y->near[j]);
    may[j] += size * x.may[j] + gamma * whole;
    mass[j] += whole;
  }
}

/* set: else they join. */
static void
scale_line(const clarke_sieve_sums *to, const clarke_sieve_line *x, const clarke_sieve_factor *factor, bool set, size_t n)
{
  const known_factor by = look_at(factor);
  scaled y;

  for (size_t at = 0; at < n; at += CHUNK) {
    const clarke_sieve_line line = {x->near + at, x->off + at, x->may + at};
    const size_t some = n - at < CHUNK ? n - at : CHUNK;

    (factor->divide ? divide_line : multiply_line)(&y, line.near, &by, some);
    if (set)
      set_scaled(&y, to->near + at, to->off + at, to->may + at, &line, &by, some);
    else
      join_scaled(&y, to->near + at, to->off + at, to->may + at, to->mass + at, &line, &by, some);
  }
}

void
clarke_sieve_scale_line(const clarke_sieve_sums *to, const clarke_sieve_line *x, const clarke_sieve_factor *by, size_t n)
{
  scale_line(to, x, by, true, n);
}

void
clarke_sieve_join_scaled(const clarke_sieve_sums *to, const clarke_sieve_line *x, const clarke_sieve_factor *by, size_t n)
{
  scale_line(to, x, by, false, n);
}

CLARKE_WIDE static void
join_products(double *restrict near, double *restrict off, double *restrict may, double *restrict mass, const clarke_sieve_line *of_gradient,
              const clarke_sieve_line *of_factor, size_t n)
{
  const clarke_sieve_line g = *of_gradient, x = *of_factor;

  for (size_t j = 0; j < n; j++) {
    const double size = size_of(g.near[j], g.off[j]), other = size_of(x.near[j], x.off[j]), y = g.near[j] * x.near[j];
    /* a factor that is a power of 2 counts as another */
    const bool whole = (g.near[j] == 0) | (x.near[j] == 0) | (is_float(g.near[j]) & is_float(x.near[j]));

    off[j] += fabs(g.near[j]) * x.off[j] + g.off[j] * (fabs(x.near[j]) + x.off[j]) + lost_of(y, whole);
    clarke_sieve_plus(&near[j], &off[j], y);
    may[j] += size * x.may[j] + g.may[j] * other;
    mass[j] += size * other;
  }
}

void
clarke_sieve_join_products(const clarke_sieve_sums *to, const clarke_sieve_line *g, const clarke_sieve_line *x, size_t n)
{
  join_products(to->near, to->off, to->may, to->mass, g, x, n);
}

/* --- judged --- */

/* Some entries' bounds; errors in parts of them; squares of bounds, twice. */
typedef struct {
  double bound[CHUNK], ratio[CHUNK], square[CHUNK], other[CHUNK];
} judgements;

CLARKE_WIDE static void
find_bounds(double *restrict bound, const double *restrict may, size_t n)
{
  for (size_t e = 0; e < n; e++)
    bound[e] = clarke_down_by(may[e], ROUNDED);
}

CLARKE_WIDE static void
find_bounds_of_sums(double *restrict bound, const double *restrict may, const double *restrict mass,
                    const unsigned char *restrict joined, double gamma, size_t n)
{
  for (size_t e = 0; e < n; e++) {
    const double taken = gamma * mass[e];

    bound[e] = clarke_down_by(may[e] + (joined[e] != 1 ? taken : 0), ROUNDED);
  }
}

CLARKE_WIDE static void
judge_entries(judgements *restrict to, clarke_sieve_found *restrict found, const clarke_sieve_judged *judged, size_t n)
{
  const clarke_sieve_judged j = *judged;
  const bool spared = !j.enclosed; /* bounds of exact entries do not count then */
  size_t beyond = 0, exact = 0, wrong = 0;

  for (size_t e = 0; e < n; e++) {
    const double recorded = (double)j.recorded[e], own = clarke_up_by(j.off[e], ADDED), bound = to->bound[e], square = bound * bound;
    const double off = clarke_up_by(fabs(recorded - j.near[e]), 4) + own;
    const double wider = clarke_up_by(own, 4) + clarke_taken(2, fabs(j.near[e])), wide = own > 0 ? wider : 0; /* clarke_sieve_rounded */
    const double low = (double)(float)(j.near[e] - wide), high = (double)(float)(j.near[e] + wide);
    const bool is_that = (recorded == low) & (recorded == high), is_other = (recorded < low) | (recorded > high);
    const double ratio = clarke_up_by(off / bound, 4);

    beyond += !(off <= bound);
    exact += is_that;
    wrong += is_other;
    to->ratio[e] = off > 0 ? ratio : 0;
    to->square[e] = (is_that & spared) ? 0 : square;
    to->other[e] = is_other ? square : 0;
  }
  found->beyond = found->beyond || beyond > 0;
  found->exact += exact;
  found->wrong += wrong;
}

/* The sums of both squares, and the largest error; eight side by side. */
CLARKE_WIDE static void
add_up(clarke_sieve_found *to, const judgements *j, size_t n)
{
  double worst[8] = {0}, square[8] = {0}, other[8] = {0};
  size_t e = 0;

  for (; e + 8 <= n; e += 8)
    for (size_t k = 0; k < 8; k++) {
      worst[k] = j->ratio[e + k] > worst[k] ? j->ratio[e + k] : worst[k];
      square[k] += j->square[e + k];
      other[k] += j->other[e + k];
    }
  for (size_t k = 0; e < n; e++, k++) {
    worst[k] = j->ratio[e] > worst[k] ? j->ratio[e] : worst[k];
    square[k] += j->square[e];
    other[k] += j->other[e];
  }
  for (size_t k = 0; k < 8; k++) {
    to->worst = worst[k] > to->worst ? worst[k] : to->worst;
    to->squares += square[k];
    to->least += other[k];
  }
}

void
clarke_sieve_judge_line(clarke_sieve_found *to, const clarke_sieve_judged *j, size_t n)
{
  judgements own;

  for (size_t from = 0; from < n && !to->beyond; from += CHUNK) {
    const size_t some = n - from < CHUNK ? n - from : CHUNK;
    clarke_sieve_judged part = *j;

    part.near += from;
    part.off += from;
    part.recorded += from;
    if (j->mass != NULL)
      find_bounds_of_sums(own.bound, j->may + from, j->mass + from, j->joined + from, j->gamma, some);
    else
      find_bounds(own.bound, j->may + from, some);
    judge_entries(&own, to, &part, some);
    add_up(to, &own, some);
  }
}
