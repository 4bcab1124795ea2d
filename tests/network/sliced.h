/* Values in digits of WIDTH bits, of N samples, beside rationals. */
#ifndef CLARKE_TESTS_NETWORK_SLICED_H
#define CLARKE_TESTS_NETWORK_SLICED_H

#include "network/pass/slices/slices.h"
#include "../draw.h"
#include "../ok.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 12, N = 3 };

static clarke_slice_plan plan;
static clarke_slicing f;
static size_t last[4];
static clarke_sliced value[4];

static inline void
begin(void)
{
  plan = (clarke_slice_plan){.width = WIDTH};
  memset(value, 0, sizeof value);
  f = (clarke_slicing){.plan = &plan, .n = N, .lanes = N, .value = value, .last = last, .err = &error};
  f.sum = malloc((CLARKE_PLANES + 2) * CLARKE_SLICE_BLOCK * sizeof *f.sum);
}

static inline void
end(void)
{
  for (size_t v = 0; v < 4; v++)
    clarke_sliced_drop(&value[v]);
  free(f.sum);
}

static inline void
add_scaled(mpq_t sum, double digit, long power)
{
  mpq_t term;

  mpq_init(term);
  mpq_set_d(term, digit);
  if (power >= 0)
    mpq_mul_2exp(term, term, (mp_bitcnt_t)power);
  else
    mpq_div_2exp(term, term, (mp_bitcnt_t)-power);
  mpq_add(sum, sum, term);
  mpq_clear(term);
}

static inline void
of_entry(mpq_t q, const clarke_sliced *v, size_t e)
{
  mpq_set_ui(q, 0, 1);
  for (size_t k = 0; k < v->planes; k++)
    add_scaled(q, (double)v->digit[k * v->rows * N + e], v->low + WIDTH * (long)k);
}

/* |a - b| <= 2^power times allowed. */
static inline void
check_within(mpq_t a, mpq_t b, double allowed, long power)
{
  mpq_t off, most;

  mpq_inits(off, most, NULL);
  mpq_sub(off, a, b);
  mpq_abs(off, off);
  add_scaled(most, allowed, power);
  ck_assert(mpq_cmp(off, most) <= 0);
  mpq_clears(off, most, NULL);
}

static inline double
draw_number(uint64_t *state)
{
  const double v = ldexp((double)(draw(state) >> (11 + draw_below(state, 50))), (int)draw_between(state, -80, 20));

  return draw(state) & 1 ? -v : v;
}

/* Rows of drawn digits. */
static inline void
draw_value(clarke_sliced *v, size_t rows, size_t planes, long low, uint64_t *state)
{
  OK(clarke_sliced_alloc(&f, v, rows, planes, low));
  ck_assert(v->rows == rows && v->planes == planes && v->low == low);
  for (size_t e = 0; e < planes * rows * N; e++)
    v->digit[e] = (float)draw_between(state, -(1 << (WIDTH - 1)), 1 << (WIDTH - 1));
  for (size_t j = 0; j < N; j++) {
    ck_assert(v->norm[j] == 0 && v->most[j] == 0);
    v->most[j] = fabs(draw_number(state));
    v->norm[j] = 2 * v->most[j];
  }
}

#endif
