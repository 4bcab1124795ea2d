/* Products of a weight and pairs of doubles, as near as is asked for (docs/gradient.md). The pairs' highest bits are cut into slices,
 * whose products with slices of the weight are exact sums of doubles in any order (docs/exact.md has the argument). What is left of
 * each is one double, the tail, and is multiplied by the weight itself, in doubles that round. */
#ifndef CLARKE_NETWORK_DERIVE_GRADIENT_SLICED_H
#define CLARKE_NETWORK_DERIVE_GRADIENT_SLICED_H

#include "exact/digits.h"
#include "network/derive/gradient/gradient.h"

/* Bits of a slice, and of one of a weight: two of the first. A part of a row's numbers of the weight makes exact sums where they have no
 * more than this mass; so many numbers always do. */
#define CLARKE_GRADIENT_SLICE 16
#define CLARKE_GRADIENT_WEIGHT_SLICE (2 * CLARKE_GRADIENT_SLICE)
#define CLARKE_GRADIENT_MASS clarke_digits_room(CLARKE_GRADIENT_SLICE, false)
#define CLARKE_GRADIENT_SUM ((size_t)1 << (54 - CLARKE_GRADIENT_SLICE - (CLARKE_GRADIENT_WEIGHT_SLICE - 1)))
/* Slices at most: of pairs, and of numbers in fixed point. */
#define CLARKE_GRADIENT_MOST 5
#define CLARKE_GRADIENT_MOST_FIXED 32
#define CLARKE_GRADIENT_WEIGHT_MOST 3
/* Products of a rounded sum at most: longer ones are made in parts, added one by one. */
#define CLARKE_GRADIENT_PART ((size_t)192)

/* A weight of blocks as they are stored, and its slices: as many as it takes, or none where they are not asked for. */
typedef struct {
  const double *all;
  clarke_digit_layout layout;
  clarke_digit_matrix cut;
  bool whole; /* nothing is left of it */
} clarke_sliced_weight;

/* Sums of a product in fixed point that wait: integers in a unit of their own, for each number of C. */
typedef struct {
  clarke_wide *sum;
  size_t sums; /* how many were added; 0: there is nothing */
  int unit;
} clarke_sliced_waiting;

/* C = A B, rows x cols by way of `inner`, A a block of the weight. B's slices are of pairs, and behind the highest is the tail, what
 * they leave. Where there is a `fixed`, C is there, row by row without a stride,
 * and `high` holds the tail's product on the way. */
typedef struct {
  size_t cols;
  const clarke_sliced_weight *a;
  const clarke_digit_matrix *b;
  size_t first; /* where A begins in the weight */
  double *high, *low;
  size_t stride;
  const clarke_fixed *fixed;
  clarke_sliced_waiting *waiting; /* of that: room for as many sums, none of which is there; */
  bool *lost;                     /* becomes true where a number has no room */
} clarke_sliced_product;

/* C += A B^T in doubles that round, in parts; fresh: C = A B^T. */
typedef struct {
  bool fresh;
  size_t rows, cols, inner;
  const double *a, *b;
  size_t a_stride, b_stride;
  double *to;
} clarke_rounded_product;

/* The exponent of a bound of absolute values, far below all others of zeros; false where it is too large or too small to cut. */
bool clarke_sliced_top(int *top, double largest);
/* Room for so many pairs of at most 2^top in slices and a tail, which is at most 2^(top - slices * CLARKE_GRADIENT_SLICE); false: there
 * is none. What was there is not freed. */
bool clarke_sliced_room(clarke_digit_matrix *m, size_t count, size_t slices, int top);
/* Cuts n pairs, which are lost, at m->digit + at. Of the planes it is known which have a number. */
void clarke_sliced_cut(clarke_digit_matrix *m, size_t at, double *high, double *low, size_t n);
/* Cuts n numbers in fixed point from the from-th on. */
void clarke_sliced_cut_fixed(clarke_digit_matrix *m, size_t at, const clarke_fixed *v, size_t from, size_t n);
/* A weight of so many numbers, whole blocks; in slices where these are asked for. *fits is false where it cannot be cut. */
clarke_status clarke_sliced_weight_make(clarke_sliced_weight *w, bool *fits, const double *all, size_t count,
                                        clarke_digit_layout layout, bool slices, clarke_error *err);
void clarke_sliced_weight_clear(clarke_sliced_weight *w);

/* part: room for rows * cols doubles. */
void clarke_sliced_multiply(const clarke_sliced_product *q, double *part);
void clarke_rounded_multiply(const clarke_rounded_product *q, double *part);

/* What a product of rounded parts takes at most, relatively. */
double clarke_rounded_gamma(double inner);
/* How many times multiply adds to a pair, at most. */
double clarke_sliced_additions(size_t slices, size_t inner);
/* At least the norm of the tails of so many numbers. */
double clarke_sliced_tail(int top, size_t slices, double count);
/* At least by how much the norm of the sum of absolute slices and tails of so many numbers exceeds that of the numbers. */
double clarke_sliced_norm(const clarke_digit_matrix *m, double count);
/* What is left of an entry of a weight, at most. */
double clarke_sliced_weight_rest(const clarke_sliced_weight *w);

#endif
