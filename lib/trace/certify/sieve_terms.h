/* The products that an entry is the sum of, one by one (sieve.h): for the few of which the sum alone says too little. */
#ifndef CLARKE_TRACE_SIEVE_TERMS_H
#define CLARKE_TRACE_SIEVE_TERMS_H

#include "trace/certify/sieve.h"

/* The terms of v's entries, whose v->dense is set. Zeros but for the first three; cleared by clarke_sieve_terms_clear. */
typedef struct {
  clarke_sieve *s;
  const clarke_sieved *v;
  clarke_terms_kind kind;
  bool listed;        /* are they put into a list, or added up? */
  size_t n, capacity; /* products in the list: a[k] b[k]; or how many were added up */
  double *a, *b;
  double sum, mass, enough; /* of the products, of their absolute values; no more are added up once mass is larger */
  bool stopped, failed;     /* no more were wanted; out of memory */
  size_t *start, *reader;             /* of an input: where it is read */
  uint64_t *of_gradient, *of_operand; /* of a weight: which numbers are not 0, and */
  const float *gradient, *operand;    /* those numbers, */
  const size_t *map;                  /* and where the operand's rows come from */
} clarke_sieve_terms;

void clarke_sieve_terms_clear(clarke_sieve_terms *p);

/* An entry of a weight's gradient is looked up as row `entry`, column 0. */

/* The sum in doubles of an entry's products, what their absolute values add up to, how many there are: p->sum, p->mass, p->n. Or
 * of the first of them alone, when their absolute values are more than enough. False: out of memory. */
bool clarke_sieve_add_up(clarke_sieve_terms *p, double enough, size_t row, size_t col);

/* Is the record the exact sum of an entry's products, rounded once? In rationals. */
clarke_status clarke_sieve_is_rounded_sum(bool *is, clarke_sieve_terms *p, size_t row, size_t col, double recorded,
                                          clarke_error *err);

#endif
