/* Rationals in lowest terms, of 128 bits; an overflow fails the test. And convex hulls of rational points. */
#ifndef CLARKE_TESTS_AUDIT_FRACTION_H
#define CLARKE_TESTS_AUDIT_FRACTION_H

#include "../suite.h"

#include <stdbool.h>

#include <gmp.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide;

typedef struct {
  wide n, d; /* d > 0 */
} fraction;

static inline wide
wide_gcd(wide a, wide b)
{
  while (b != 0) {
    wide r = a % b;

    a = b;
    b = r;
  }
  return a < 0 ? -a : a;
}

static inline wide
wide_mul(wide a, wide b)
{
  wide c;

  /* Not by ck_assert, which writes to a file each time. */
  if (__builtin_mul_overflow(a, b, &c))
    ck_abort_msg("a fraction overflows");
  return c;
}

static inline wide
wide_add(wide a, wide b)
{
  wide c;

  if (__builtin_add_overflow(a, b, &c))
    ck_abort_msg("a fraction overflows");
  return c;
}

static inline fraction
ratio(wide n, wide d)
{
  wide g = wide_gcd(n, d);

  if (d < 0)
    g = -g;
  return (fraction){n / g, d / g};
}

static inline fraction
whole(long n)
{
  return (fraction){n, 1};
}

static inline fraction
times(fraction a, fraction b)
{
  if (a.n == 0 || b.n == 0)
    return (fraction){0, 1};
  if (a.d == 1 && b.d == 1)
    return (fraction){wide_mul(a.n, b.n), 1};
  return ratio(wide_mul(a.n, b.n), wide_mul(a.d, b.d));
}

static inline fraction
plus(fraction a, fraction b)
{
  wide g;

  if (a.n == 0 || b.n == 0)
    return a.n == 0 ? b : a;
  if (a.d == 1 && b.d == 1)
    return (fraction){wide_add(a.n, b.n), 1};
  g = wide_gcd(a.d, b.d);
  return ratio(wide_add(wide_mul(a.n, b.d / g), wide_mul(b.n, a.d / g)), wide_mul(a.d / g, b.d));
}

static inline fraction
minus(fraction a, fraction b)
{
  b.n = -b.n;
  return plus(a, b);
}

static inline int
sign_of(fraction a)
{
  return a.n < 0 ? -1 : a.n > 0;
}

static inline bool
same(fraction a, fraction b)
{
  return a.n == b.n && a.d == b.d;
}

static inline double
rounded(fraction a)
{
  return (double)a.n / (double)a.d;
}

/* A double that is a small multiple of a power of two above 2^-64. */
static inline fraction
fraction_of_double(double x)
{
  wide d = 1;

  for (; x != (double)(long)x; d *= 2)
    x *= 2;
  return ratio((long)x, d);
}

static inline fraction
fraction_of_mpq(const mpq_t q)
{
  if (!mpz_fits_slong_p(mpq_numref(q)) || !mpz_fits_slong_p(mpq_denref(q)))
    ck_abort_msg("a fraction is too large");
  return ratio(mpz_get_si(mpq_numref(q)), mpz_get_si(mpq_denref(q)));
}

/* --- hulls: the first phase of the simplex method, by Bland's rule, which ends ------------------------- */

typedef struct {
  size_t rows, columns; /* the last column: what the basis has */
  fraction *entry;
  size_t *basis;        /* by row; from `points` on: what must leave */
  size_t points;
} tableau;

static inline fraction *
tableau_at(const tableau *t, size_t row, size_t column)
{
  return &t->entry[row * t->columns + column];
}

/* Weights of the points, one a column, and an artificial one a row, that add up to the target and to 1. */
static inline void
tableau_begin(tableau *t, const fraction *point, size_t n, const fraction *target, size_t dim)
{
  t->rows = dim + 1;
  t->points = n;
  t->columns = n + 1;
  t->entry = calloc(t->rows * t->columns, sizeof *t->entry);
  t->basis = malloc(t->rows * sizeof *t->basis);
  for (size_t i = 0; i < t->rows; i++) {
    bool negative = i < dim && target[i].n < 0;

    t->basis[i] = n + i;
    for (size_t k = 0; k <= n; k++) {
      fraction x = i == dim ? (fraction){1, 1} : k < n ? point[k * dim + i] : target[i];

      x.n = negative ? -x.n : x.n;
      *tableau_at(t, i, k) = x;
    }
  }
}

/* The least column that reduces what is left of the artificial weights; `points` when none does. */
static inline size_t
tableau_entering(const tableau *t)
{
  for (size_t k = 0; k < t->points; k++) {
    fraction sum = {0, 1};

    for (size_t i = 0; i < t->rows; i++)
      if (t->basis[i] >= t->points)
        sum = plus(sum, *tableau_at(t, i, k));
    if (sum.n > 0)
      return k;
  }
  return t->points;
}

static inline size_t
tableau_leaving(const tableau *t, size_t column)
{
  size_t best = t->rows;
  fraction least = {0, 1};

  for (size_t i = 0; i < t->rows; i++) {
    fraction by = *tableau_at(t, i, column), x;

    if (by.n <= 0)
      continue;
    x = times(*tableau_at(t, i, t->points), ratio(by.d, by.n));
    if (best == t->rows || sign_of(minus(x, least)) < 0 ||
        (same(x, least) && t->basis[i] < t->basis[best])) {
      best = i;
      least = x;
    }
  }
  return best;
}

static inline void
tableau_pivot(tableau *t, size_t row, size_t column)
{
  fraction by = *tableau_at(t, row, column);

  for (size_t k = 0; k < t->columns; k++)
    *tableau_at(t, row, k) = times(*tableau_at(t, row, k), ratio(by.d, by.n));
  for (size_t i = 0; i < t->rows; i++) {
    fraction factor = *tableau_at(t, i, column);

    if (i == row || factor.n == 0)
      continue;
    for (size_t k = 0; k < t->columns; k++)
      *tableau_at(t, i, k) = minus(*tableau_at(t, i, k), times(factor, *tableau_at(t, row, k)));
  }
  t->basis[row] = column;
}

/* Is the target a convex combination of the n points (n x dim)? */
static inline bool
in_hull_of(const fraction *point, size_t n, const fraction *target, size_t dim)
{
  tableau t;
  bool inside = true;

  tableau_begin(&t, point, n, target, dim);
  for (size_t k; (k = tableau_entering(&t)) < t.points;)
    tableau_pivot(&t, tableau_leaving(&t, k), k);
  for (size_t i = 0; i < t.rows; i++)
    inside = inside && (t.basis[i] < t.points || tableau_at(&t, i, t.points)->n == 0);
  free(t.entry);
  free(t.basis);
  return inside;
}

#endif
