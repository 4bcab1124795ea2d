/* Running error analysis (docs/proof-format.md, section 7, "Composed nodes"): numbers with what they may be off by. Every bound is
 * rounded down to 64 bits, so that no entry is called within what it is not. */
#ifndef CLARKE_KERNEL_RECORD_NUMBER_H
#define CLARKE_KERNEL_RECORD_NUMBER_H

#include "check/record/record_sum.h"

/* A number that was computed: it is within `off` of an exact one, which x holds. wide: of the size of what formulas add it up
 * from, at least |x| + off. */
typedef struct {
  interval x;
  rational off, wide;
  bool open; /* no bound on what it is off by is known: off says nothing */
} number;

/* A gradient that is gathered from terms: off: what they are off by; mass: the sum of their absolute values. */
typedef struct {
  interval x;
  rational off, mass;
  size_t terms;
  bool open; /* of some term no bound is known */
} handed;

number *number_new(size_t n);
void number_free(number *y, size_t n);
handed *handed_new(size_t n);
void handed_free(handed *h, size_t n);

void number_round(interval *x); /* to the session's bits; an exact one stays so, but for one of very many bits */
void least_size(rational *q, const interval *x);                   /* the least |x| */
void most_size(rational *q, const interval *x);                    /* the largest */
void size_of(rational *q, const number *y);                        /* |x| + off, x having its least size */
void add_times(rational *y, const rational *a, const rational *b); /* y += a b, all of them at least 0 */
/* Is it 0, and made of what is nothing but 0, the sum of its terms' sizes being `mass`? Then nothing was rounded. */
bool number_is_nothing(const number *y, const rational *mass);
/* off += n / (2^k - n) mass + 4 n tiny, of a type of k bits. False: so many roundings, or such a mass, have no bound. */
bool add_rounding(rational *off, size_t type, size_t n, const rational *mass);

#endif
