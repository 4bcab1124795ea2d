/* Running error analysis (docs/proof-format.md, "Composed nodes"): numbers with what they may be off by. Bounds
 * are record_bound.h's. */
#ifndef CLARKE_KERNEL_RECORD_NUMBER_H
#define CLARKE_KERNEL_RECORD_NUMBER_H

#include "check/record/record_enclosure.h"
#include "check/record/record_sum.h"

/* A number that was computed: it is within `off` of an exact one, which x holds. wide: of the size of what formulas add it up
 * from, at least |x| + off. */
typedef struct {
  enclosure x;
  bound off, wide;
  bool open; /* no bound on what it is off by is known: off says nothing */
} number;

/* A gradient that is gathered from terms: off: what they are off by; mass: the sum of their absolute values. */
typedef struct {
  enclosure x;
  bound off, mass;
  size_t terms;
  bool open; /* of some term no bound is known */
} cotangent;

number *number_new(size_t n, bool doubles); /* n zeros */
void number_free(number *y, size_t n);
size_t number_bytes(const number *y, size_t n);    /* what they take, but for what the allocator adds */
cotangent *cotangents_new(size_t n, bool doubles); /* n zeros */
void cotangents_free(cotangent *h, size_t n);

void number_round(enclosure *x); /* to the session's bits; an exact one stays so, but for one of very many bits */
bound size_of(const number *y);  /* |x| + off, x having its least size */
/* Is a bound known on what it is off by? In doubles, whose least sizes may be 0 where an exact one is not, x is known but for a small part of
 * size_of, too: so what bounds are made of is nearly what they are made of in GMP's numbers. */
bool number_bounded(const number *y, bool open);
/* Is it 0, and made of what is nothing but 0, the sum of its terms' sizes being `mass`? Then nothing was rounded. */
bool number_is_nothing(const number *y, bound mass);
/* off += n / (2^k - n) mass + 4 n tiny, of a type of k bits. False: so many roundings, or such a mass, have no bound. */
bool add_rounding(bound *off, size_t type, size_t n, bound mass);

#endif
