/* Taylor polynomials in the displacement of the parameters, with rational coefficients: the arithmetic of the forger's
 * oracle. It shares no code with the library or the checker. Behind exp, log and irrational roots numbers are rounded
 * to 192 bits after the point; two of them that differ by less than 2^-96 are taken as equal. */
#ifndef CLARKE_TESTS_CHECK_FORGE_NETWORK_SERIES_H
#define CLARKE_TESTS_CHECK_FORGE_NETWORK_SERIES_H

#include <stdio.h> /* before gmp.h, for its printing */

#include <gmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_VARIABLES = 6, MOST_DEGREE = 4 };

/* Four bits for each variable's exponent, the degree above them: products add. */
typedef uint32_t powers;

typedef struct {
  powers of;
  mpq_t c;
} monomial;

typedef struct {
  size_t n;
  monomial *term; /* by increasing powers, none zero */
  bool rounded;   /* not exact */
  bool cut;       /* it has more terms than those, of a degree above series_degree */
} series;

typedef struct {
  long n, d;
} small;

extern unsigned series_degree; /* what is kept */

static inline unsigned
degree_of(powers p)
{
  return p >> 28;
}

static inline powers
variable(size_t i)
{
  return (powers)1 << 28 | (powers)1 << 4 * i;
}

static inline unsigned
exponent_of(powers p, size_t i)
{
  return p >> 4 * i & 15;
}

/* All series live until those made after a mark are released. */
size_t series_mark(void);
void series_release(size_t mark);

const series *series_number(double x);
const series *series_small(small x);
const series *series_variable(size_t i, double at);
const series *series_add(const series *a, const series *b, small times); /* a + times b */
const series *series_times(const series *a, const mpq_t q);
const series *series_product(const series *a, const series *b);
const series *series_linear_part(const series *a);

typedef enum { SERIES_EXP, SERIES_LOG, SERIES_INVERSE, SERIES_ROOT } series_function;
const series *series_of(series_function f, const series *a);

/* The coefficient; zero when there is none. */
mpq_srcptr series_coefficient(const series *a, powers p);
/* Of the value at 0. */
int series_sign(const series *a);
/* Sign of a number that may be rounded. */
int number_sign(const mpq_t q, bool rounded);

mpq_t *numbers(size_t n);
void numbers_free(mpq_t *x, size_t n);
void number_of(mpq_t q, small x);

/* The least distance (sum of absolute values) of the sum of x[j] a[j] from b over x >= 0, and an x that has it, a vertex:
 * phase one of the simplex method with Bland's rule. */
void nearest(mpq_t distance, mpq_t *x, size_t rows, size_t columns, mpq_t **a, mpq_t *b);

#endif
