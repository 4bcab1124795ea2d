/* The same sums in doubles, which tell of nearly all recorded numbers that they are within the bound; long integers are for the others
 * (docs/proof-format.md, "In doubles"). Doubles are those of IEEE 754, rounded to nearest, each operation by itself.
 *
 * A term c a b is made by two products and of a c that is cut: it is itself times three factors 1 + d, |d| <= 2^-52, for nothing
 * underflows. Adding up N terms in any order, to the sum and to that of sizes, multiplies each by N - 1 more at most. So both are off by
 * e M at most, M being the true sum of sizes and e = (N + 4) 2^-51, which is below 2^-6 n 2^-k: N <= n, and k <= 24. The bound is
 * n 2^-k M or more. What is within half of it, as doubles compute both, is so within all of it. */
#ifndef CLARKE_CHECK_RECORD_FILTER_H
#define CLARKE_CHECK_RECORD_FILTER_H

#include "check/record/record_bound.h"
#include "check/base/span.h"
#include "check/record/record_sum.h"

/* What is computed by additions, as record_sum.h's sum. A NaN is made of what doubles do not hold. */
typedef struct {
  double sum, size; /* of the terms; of their absolute values */
  size_t terms;
  bool rounds;
  bool inexact; /* the sum may not be that of the terms */
} filter;

void filter_add(filter *s, const coefficient *c, const recorded *a, const recorded *b); /* c a b, or c a: b NULL */
void filter_add_number(filter *s, const rational *q);                                   /* a stored number */
void filter_join(filter *s, const filter *of, bool minus); /* those terms, too; or minus them */
/* As sum_judge, of a few more roundings than terms; UNTOLD: doubles do not tell. WITHIN_BOUND may be BIT_EXACT, which it is not where
 * `exact` asks for that. */
nearness filter_judge(const filter *s, size_t type, size_t roundings, const recorded *x, bool exact);
/* What the sum of the terms lies in, and in *mass that of their sizes, or less. */
span filter_span(const filter *s, bound *mass);

#endif
