/* How far doubles may be from the sums of products that a DENSE step and its way back ask for (sieve.h). */
#ifndef CLARKE_TRACE_SIEVE_BOUNDS_H
#define CLARKE_TRACE_SIEVE_BOUNDS_H

#include "trace/certify/sieve.h"

/* A step at work. */
typedef struct {
  clarke_sieve *s;
  const clarke_step *dense;
  const clarke_dense *d;
  const double *w;
  size_t n, columns; /* of samples; of a row of the operand: repeat * n */
  const size_t *map; /* of the operand; NULL: as it is */
  bool is_conv;      /* by Winograd's algorithm: */
  clarke_sieve_conv conv;
} clarke_sieve_product;

/* Its way back. */
typedef struct {
  clarke_sieve_product p;
  const float *g; /* of the output */
  double most;    /* its largest */
  clarke_sieved *x, *w; /* gradients of operand and weight; NULL: not asked for */
} clarke_sieve_product_back;

/* The block's weight: outer x inner, or inner x outer where it is transposed. */
static inline const double *
clarke_sieve_weight(const clarke_sieve_product *p, size_t block)
{
  return p->w + (p->d->grouped ? block * p->d->outer * p->d->inner : 0);
}

/* Slack and top of the output's rows, which have slack 0 yet: most is the operand's largest number. False when out of memory; a weight that
 * is too small for bounds in doubles leaves all open. */
bool clarke_sieve_bound_output(const clarke_sieve_product *p, double most);
/* Those of what was added to the gradients, which the step is among the parts of already; where it is the only one a column's scale,
 * too. */
clarke_status clarke_sieve_bound_operand(const clarke_sieve_product_back *k, clarke_error *err);
clarke_status clarke_sieve_bound_weight(const clarke_sieve_product_back *k, clarke_error *err);

#endif
