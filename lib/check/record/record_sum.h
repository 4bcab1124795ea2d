/* Sums of products of recorded numbers, exactly, and how far rounding may take what was computed of them
 * (docs/proof-format.md, "The bound"). */
#ifndef CLARKE_KERNEL_RECORD_SUM_H
#define CLARKE_KERNEL_RECORD_SUM_H

#include "check/files/tensors.h"

/* A recorded number: as a double, NaN where that is another number; and in a record's unit, once recorded_integer was asked. */
typedef struct recorded {
  double d;
  integer z;
} recorded;

/* Every recorded number is an integer times 2^-bits; every coefficient an integer over `common`; a sum is so an integer
 * times 2^(-2 bits) / common. */
typedef struct {
  unsigned long bits;
  integer common;
} unit;

const integer *recorded_integer(const recorded *x, const unit *u);                        /* times 2^bits */
void recorded_value(rational *q, const recorded *x, const unit *u);                       /* q = x */
int recorded_long_order(const recorded *x, bool minus, const recorded *y, const unit *u); /* as the next, in integers */

/* The sign of x - y, or -x - y. */
static inline int
recorded_order(const recorded *x, bool minus, const recorded *y, const unit *u)
{
  double d = minus ? -x->d : x->d;
  return d < y->d ? -1 : d > y->d ? 1 : d == y->d ? 0 : recorded_long_order(x, minus, y, u);
}

/* What is computed by additions, in any order, of terms. A term is coefficient times one number or two. */
typedef struct {
  integer exact, mass; /* the sum; that of the absolute values */
  integer lost;        /* of the absolute values of terms in which a number is subnormal, and may be read as 0 */
  integer narrow;      /* what narrow factors take of the terms, times 2^NARROW_BITS */
  integer steepest;    /* the largest absolute value of a coefficient, if it is more than 1; times `common` */
  size_t terms;
  bool rounds; /* a term is a product other than by 1 or -1 */
} sum;

/* A coefficient: q * common, or minus that; plain: q is 1 or -1. d: q with at most a part of 2^-52 cut off; NaN where a sum in doubles
 * may not have it. */
typedef struct {
  const rational *q; /* which it is of; NULL: none yet */
  integer times;
  double d;
  bool plain;
} coefficient;

/* All numbers of a type are below 2^most; underflow in it takes at most 2^-tiny. */
unsigned long type_most(size_t type);
unsigned long type_tiny(size_t type);
/* Is it below the smallest normal number, where subnormals may be lost, and not 0? */
bool is_subnormal(size_t type, const recorded *a, const unit *u);

sum *sums(size_t n); /* n empty ones */
void sums_free(sum *s, size_t n);
void coefficient_set(coefficient *c, const unit *u, const rational *q); /* nothing to do where it is q's already */
/* One term more, c a b; b NULL: c a. type: what is computed in. narrow: what is taken of it where its factors were rounded, in parts of
 * 2^-NARROW_BITS; 0: they were not. */
#define NARROW_BITS 22
void sum_add(sum *s, const unit *u, size_t type, const coefficient *c, const recorded *a, const recorded *b,
             unsigned long narrow);

void sum_part(rational *q, const unit *u,
              const integer *of); /* a number of a sum: its exact one, mass, or what is lost */

/* One more that is a stored number. */
void sum_add_number(sum *s, const unit *u, const rational *q);

/* A recorded number of that type beside the sum, of which so many roundings may be made: how near? */
typedef enum { BIT_EXACT, WITHIN_BOUND, BOUNDLESS, BEYOND, UNTOLD } nearness; /* UNTOLD: by doubles (record_filter.h) */
/* Says so of the recorded number of that type, beside the sum. */
nearness sum_judge(const sum *s, const unit *u, size_t type, size_t roundings, const recorded *x);

#endif
