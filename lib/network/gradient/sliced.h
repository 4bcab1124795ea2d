/* Matrices of pairs of doubles cut into slices of few bits, whose products are exact sums of doubles in any order
 * (docs/gradient.md; docs/exact.md has the argument). */
#ifndef CLARKE_NETWORK_GRADIENT_SLICED_H
#define CLARKE_NETWORK_GRADIENT_SLICED_H

#include "network/gradient/gradient.h"

/* A matrix in slices: slice s at digit + s * plane, rows of `stride` numbers. Of each entry, which is at most 2^top, is left out
 * 2^(top - slices * bits) at most, within a factor 1 + 2^-30. */
typedef struct {
  double *digit;
  size_t plane, stride, slices;
  int top;
  bool used[CLARKE_GRADIENT_MOST];   /* slices that are not all zero */
  size_t *few[CLARKE_GRADIENT_MOST]; /* of a weight's slice with few numbers, their places, in order; NULL: it has more */
  size_t n_few[CLARKE_GRADIENT_MOST]; /* (a B that is stored the other way round is not multiplied by these) */
} clarke_sliced;

/* C += A B, rows x cols by way of `inner`; a factor that is stored the other way round says so. */
typedef struct {
  bool a_transposed, b_transposed;
  size_t rows, cols, inner;
  const clarke_sliced *a, *b;
  size_t first; /* where A begins in what its lists of few numbers are of */
  double *high, *low;
  size_t stride;
} clarke_sliced_product;

/* The exponent of a bound of absolute values, far below all others of zeros; false where it is too large or too small to cut. */
bool clarke_sliced_top(int *top, double largest);
/* Room for slices of so many numbers; NULL: there is none. What was there is not freed. */
double *clarke_sliced_room(clarke_sliced *m, size_t count, size_t slices);
/* Cuts n pairs of at most 2^m->top, which are lost, at m->digit + at. m->used grows by the slices that have a number. */
void clarke_sliced_cut(clarke_sliced *m, size_t at, double *high, double *low, size_t n);
void clarke_sliced_forget(clarke_sliced *m); /* no slice has a number yet */
/* Lists the numbers of slices that have few. */
clarke_status clarke_sliced_list_few(clarke_sliced *m, clarke_error *err);

/* C += A B: slices s and t with s + t below B's number of slices. part: room for rows * cols doubles. */
void clarke_sliced_multiply(const clarke_sliced_product *q, double *part);
/* How many times that adds to an entry, at most. */
double clarke_sliced_additions(size_t slices, size_t inner);
/* What it leaves out of an entry that is a sum of so many terms, at most. */
double clarke_sliced_left_out(const clarke_sliced *a, const clarke_sliced *b, double terms);
/* At least by how much the norm of the sum of absolute slices of so many numbers exceeds that of the numbers. */
double clarke_sliced_norm(const clarke_sliced *m, double count);

#endif
