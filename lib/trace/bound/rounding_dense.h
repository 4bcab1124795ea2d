/* Sums of products of sizes, which a DENSE step's bounds are made of: numbers >= 0 in doubles, by BLAS. A sum is then off by
 * less than clarke_roundoff_sum adds, whatever its order. */
#ifndef CLARKE_TRACE_ROUNDING_DENSE_H
#define CLARKE_TRACE_ROUNDING_DENSE_H

#include "trace/bound/rounding.h"

/* Each malloc; NULL when out of memory. */
typedef struct {
  double *weight; /* |w|, as stored */
  double *cast;   /* what a cast takes of each; NULL: of none */
  double *top;    /* size + error of the operand */
} clarke_dense_sizes;

/* The absolute values of a constant; or what casting takes of them. */
double *clarke_roundoff_weights(const clarke_roundoff *r, size_t value, bool cast);
/* Does casting take something of an entry of the constant? */
bool clarke_roundoff_casts(const clarke_roundoff *r, size_t value);
/* Is each of n weights' sizes 1, so that a product is a number itself, or turned in sign? Of sums over axes all are. */
bool clarke_roundoff_turns(const double *size, size_t n);
/* size + error of an activation. */
double *clarke_roundoff_tops(const clarke_roundoff *r, size_t value);

/* y += W x, x += W^T y, w += y x^T for the step's W: x and y are features x n samples, w as it is stored. Zeros add nothing. */
void clarke_roundoff_dense(double *y, const clarke_step *s, const double *w, const double *x, size_t n);
void clarke_roundoff_dense_back(double *x, const clarke_step *s, const double *w, const double *y, size_t n);
void clarke_roundoff_dense_weight(double *w, const clarke_step *s, const double *y, const double *x, size_t n);

#endif
