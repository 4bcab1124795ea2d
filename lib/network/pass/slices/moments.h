/* Means and deviations of groups of entries in digits, kept for all normalizations that read the same digits: Concats only move
 * them (docs/filter.md, "Slices"). */
#ifndef CLARKE_NETWORK_PASS_SLICES_MOMENTS_H
#define CLARKE_NETWORK_PASS_SLICES_MOMENTS_H

#include "network/pass/slices/slices.h"

/* A group's 1 / deviation and -mean / deviation, each off by less than 2^(3 - bits) of itself. */
typedef struct {
  mpfr_prec_t bits; /* 0: nothing is known */
  mpfr_t inverse, shift;
  double least;       /* the deviation is not below it */
  long low;           /* digits below 2^low were left out */
  mpq_srcptr epsilon; /* the step's */
} clarke_moments;

/* What is left of a value when it is dropped. */
struct clarke_origin {
  bool moved;             /* it is a SUM that moved digits, each entry's those of one operand, or 0 */
  long low;               /* its lowest place */
  size_t n, length;       /* groups of so many rows each, one behind the other */
  clarke_moments *moments; /* n; NULL: none is known */
};

/* Those of group g of the operand of a NORMALIZE over all samples, to so many bits or more: what is kept, or *own, which is made anew.
 * Digits are at most 2^20 in size, and a group has at most 2^22 entries. */
const clarke_moments *clarke_moments_find(clarke_slicing *f, const clarke_step *s, size_t g, mpfr_prec_t bits, clarke_moments *own);
void clarke_moments_clear(clarke_moments *m);
/* All that is kept of n values. */
void clarke_origins_free(clarke_origin *origin, size_t n);

#endif
