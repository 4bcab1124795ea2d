/* Arrangements made for tests: columns by rows, as arrangement.h takes them. */
#ifndef CLARKE_TESTS_REGION_DRAWN_H
#define CLARKE_TESTS_REGION_DRAWN_H

#include "exact/number.h"
#include "region/arrangement.h"

#include <stdint.h>

typedef struct {
  size_t n, p;
  mpq_t *v, *t; /* t: NULL for a central one */
} drawn;

static inline uint64_t
roll(uint64_t *state)
{
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state >> 11;
}

/* -most to most. */
static inline long
draw_entry(uint64_t *state, long most)
{
  return (long)(roll(state) % (uint64_t)(2 * most + 1)) - most;
}

static inline drawn
drawn_new(size_t n, size_t p, bool affine)
{
  return (drawn){n, p, clarke_rationals(n * p), affine ? clarke_rationals(p) : NULL};
}

static inline void
drawn_free(drawn *d)
{
  clarke_rationals_free(d->v, d->n * d->p);
  clarke_rationals_free(d->t, d->t != NULL ? d->p : 0);
}

/* Points of the moment curve: any n columns are independent, and with offsets of a higher power the arrangement is simple. */
static inline drawn
drawn_generic(size_t n, size_t p, bool affine)
{
  drawn d = drawn_new(n, p, affine);

  for (size_t j = 0; j < p; j++) {
    mpz_t power;

    mpz_init_set_ui(power, 1);
    for (size_t i = 0; i < n; i++) {
      mpq_set_z(d.v[i * p + j], power);
      mpz_mul_si(power, power, (long)j - (long)p / 2);
    }
    if (affine)
      mpq_set_z(d.t[j], power);
    mpz_clear(power);
  }
  return d;
}

/* e_i, and e_i - e_j: the hyperplanes that part the orders of 0, x_1, ..., x_n. */
static inline drawn
drawn_permutations(size_t n)
{
  drawn d = drawn_new(n, n * (n + 1) / 2, false);
  size_t column = 0;

  for (size_t i = 0; i < n; i++)
    mpq_set_si(d.v[i * d.p + column++], 1, 1);
  for (size_t i = 0; i < n; i++)
    for (size_t j = i + 1; j < n; j++, column++) {
      mpq_set_si(d.v[i * d.p + column], 1, 1);
      mpq_set_si(d.v[j * d.p + column], -1, 1);
    }
  return d;
}

/* Small fractions; some columns are 0, multiples of others, or sums of two. */
static inline drawn
drawn_degenerate(uint64_t *state, size_t n, size_t p, bool affine)
{
  drawn d = drawn_new(n, p, affine);

  for (size_t j = 0; j < p; j++) {
    const uint64_t kind = roll(state) % 8;
    const size_t one = j > 0 ? roll(state) % j : 0, other = j > 0 ? roll(state) % j : 0;
    const long times = draw_entry(state, 2);

    for (size_t i = 0; i < n + affine; i++) {
      mpq_t *row = i < n ? d.v + i * p : d.t;

      mpq_set_si(row[j], draw_entry(state, 3), 1 + roll(state) % 3);
      mpq_canonicalize(row[j]);
      if (kind == 0 && (i < n || times > 0))
        mpq_set_si(row[j], 0, 1);
      else if (kind == 1 && j > 0)
        mpq_set_si(row[j], times, 3), mpq_canonicalize(row[j]), mpq_mul(row[j], row[j], row[one]);
      else if (kind <= 3 && j > 0)
        mpq_add(row[j], row[one], row[other]);
    }
  }
  return d;
}

#endif
