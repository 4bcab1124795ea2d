/* Numbers: rationals and intervals of them. Ends of inexact results are multiples of 2^-session_bits. */
#ifndef CLARKE_KERNEL_VALUE_H
#define CLARKE_KERNEL_VALUE_H

#include "check/base/session.h"

#include <stdio.h> /* before gmp.h, for its printing */

#include <gmp.h>

typedef __mpq_struct rational; /* canonical */
typedef __mpz_struct integer;
typedef struct {
  rational lo, hi; /* equal: exact */
} interval;

/* Local variables that are zero to begin with and clear themselves. */
#define RATIONAL(q) __attribute__((cleanup(mpq_clear))) rational q = rational_zero()
#define INTEGER(z) __attribute__((cleanup(mpz_clear))) integer z = integer_zero()
#define INTERVAL(x) __attribute__((cleanup(interval_clear))) interval x = interval_nought()

extern const rational zero, plus_one, minus_one, two;
extern const interval exactly_zero, exactly_one;
rational rational_zero(void);   /* 0; to be cleared */
integer integer_zero(void);     /* 0; to be cleared */
interval interval_nought(void); /* [0, 0]; to be cleared */
void interval_clear(interval *x);
rational *rationals(size_t n);               /* n zeros; freed by rationals_free */
void rationals_begin(rational *q, size_t n); /* makes what allocate() gave rationals, unless it is done */
void rationals_free(rational *q, size_t n);
interval *intervals(size_t n); /* n zeros; freed by intervals_free */
void intervals_free(interval *x, size_t n);
bool interval_exact(const interval *x);     /* are its ends one number? */
bool interval_zero(const interval *x);      /* exactly */
bool interval_open(const interval *x);      /* does it hold 0, and other numbers? */
bool zeros(const rational *x, size_t n);    /* are all 0? */
bool all_zero(const interval *x, size_t n); /* are all 0 exactly? */
/* y += a x; y is not made canonical, which would cost more than the rest. */
void add_multiple(rational *y, const rational *a, const rational *x);
void interval_set(interval *y, const rational *lo, const rational *hi);
void interval_add(interval *y, const interval *x, const rational *c); /* y += c x */
void interval_mul(interval *y, const interval *a, const interval *b);
void multiply_add(interval *y, const interval *a, const interval *b);    /* y += a b */
void interval_addmul(interval *y, const interval *a, const interval *b); /* the same, rounded */
void interval_div(interval *y, const interval *a, const interval *b); /* y = a / b, rounded; a b that may be 0 fails */
void interval_join(interval *y, const interval *x);                   /* y holds x, too */
void interval_round(interval *y);
int interval_sign(const interval *x, const char *what);              /* UNDECIDED when it does not say */
int interval_compare(const interval *a, const interval *b);          /* -1, 0, 1; 2: it cannot be told */
void fixed(integer *z, const rational *q, unsigned long p, bool up); /* z = q 2^p rounded */
void unfixed(rational *q, const integer *z, unsigned long p);        /* q = z / 2^p */

#endif
