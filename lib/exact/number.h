/* One real number: a rational, exactly, or else an Arb ball that holds it. Operations on exact
 * numbers are exact; a transcendental function gives a ball, but for the arguments where its value
 * is rational (exp 0, log 1, sqrt 9/4, ...). The derivative of a logarithm is as exact as its argument. An exact zero times anything is an exact zero. */
#ifndef CLARKE_EXACT_NUMBER_H
#define CLARKE_EXACT_NUMBER_H

#include "base/status.h"
#include "exact/elementary.h"

#include <gmp.h>
#include <stddef.h>

typedef struct {
  bool exact;
  mpq_t q; /* when exact */
  arb_t b; /* when not */
} clarke_number;

void clarke_number_init(clarke_number *x); /* exactly zero */
void clarke_number_clear(clarke_number *x);
void clarke_number_set(clarke_number *y, const clarke_number *x); /* y = x */
void clarke_number_set_q(clarke_number *y, const mpq_t q); /* y = q exactly */
void clarke_number_set_si(clarke_number *y, long n); /* y = n exactly */

/* What is computed with numbers in this thread, as it runs, while a tally is kept: sums and differences, products and quotients, elementary
 * functions. A product with an exact zero that is left out is not counted. NULL: none is kept. */
typedef struct {
  size_t additions, multiplications, functions;
} clarke_tally;
void clarke_tally_keep(clarke_tally *t);
void clarke_tally_add(size_t additions, size_t multiplications, size_t functions); /* of matrices and their entries: nothing if none is kept */

/* n initialized numbers (NULL when out of memory); clears and frees them. */
clarke_number *clarke_numbers(size_t n);
void clarke_numbers_free(clarke_number *x, size_t n);

/* Lowest terms, the denominator above 0? */
bool clarke_rational_is_canonical(const mpq_t q);

/* Nonnegative numbers in lowest terms whose sum is 1? */
bool clarke_weights_are_valid(mpq_t *weight, size_t n);

/* Nonnegative numbers, of which one is not 0: divides them by their sum. */
void clarke_weights_normalize(mpq_t *weight, size_t n);

/* n rationals, zero (NULL when out of memory); clears and frees them. */
mpq_t *clarke_rationals(size_t n);
void clarke_rationals_free(mpq_t *x, size_t n);

/* Outputs may alias inputs. precision: bits, where balls are involved. */
void clarke_number_add(clarke_number *y, const clarke_number *a, const clarke_number *b,
                       long precision);
void clarke_number_sub(clarke_number *y, const clarke_number *a, const clarke_number *b,
                       long precision);
void clarke_number_mul(clarke_number *y, const clarke_number *a, const clarke_number *b,
                       long precision);
/* y += a b; y += q b. */
void clarke_number_addmul(clarke_number *y, const clarke_number *a, const clarke_number *b,
                          long precision);
void clarke_number_addmul_q(clarke_number *y, const mpq_t q, const clarke_number *b,
                            long precision);
/* b is certainly not zero. */
void clarke_number_div(clarke_number *y, const clarke_number *a, const clarke_number *b,
                       long precision);

/* y is at least |x|, and that where x is rational. */
void clarke_number_largest(clarke_number *y, const clarke_number *x, long precision);
/* y also holds all that is at most |x| away from what it holds. */
void clarke_number_widen(clarke_number *y, const clarke_number *x, long precision);
/* The root of what is known to be no less than 0, of which the ball may hold more. y may be x. */
void clarke_number_root(clarke_number *y, const clarke_number *x, long precision);
/* A number that holds all between a and b, which are balls or not; y may alias them. Exact when they are one rational. */
void clarke_number_join(clarke_number *y, const clarke_number *a, const clarke_number *b, long precision);

/* Is it a rational whose numerator or denominator has more bits than CLARKE_LIMIT_BITS allows? Programs that make such
 * numbers are refused: thirty squarings of 3 fill any memory. */
bool clarke_number_is_large(const clarke_number *x);

/* Are all n rational, and equal? */
bool clarke_numbers_equal(const clarke_number *a, const clarke_number *b, size_t n);

/* -1, 0 (exactly zero), 1, or 2 when the ball holds zero. */
int clarke_number_sign(const clarke_number *x);
/* The sign of a - b in the same sense. */
int clarke_number_compare(const clarke_number *a, const clarke_number *b, long precision);

/* y = f(x), and dy = f'(x) when dy is not NULL. False when x is not certainly inside the domain
 * (log: x > 0; sqrt: x >= 0, and x > 0 for dy). y may alias x, dy not. */
bool clarke_number_analytic(clarke_number *y, clarke_number *dy, clarke_analytic f,
                            const clarke_number *x, long precision);

/* The number itself when it is rational, else the middle of its ball. */
void clarke_number_middle(mpq_t q, const clarke_number *x);

/* "3/2", or for a ball the digits that are certain, as "0.54030230586813972" (malloc). */
char *clarke_number_text(const clarke_number *x);
double clarke_number_double(const clarke_number *x);

#endif
