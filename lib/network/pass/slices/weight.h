/* A weight in digits, for products in slices (docs/filter.md, "Slices"). */
#ifndef CLARKE_NETWORK_PASS_SLICES_WEIGHT_H
#define CLARKE_NETWORK_PASS_SLICES_WEIGHT_H

#include "exact/digits.h"
#include "network/pass/slices/slices.h"

/* Exponents of the bits of doubles, from that of the least on. */
#define CLARKE_EXPONENTS 2200

/* The bits of n numbers: all are multiples of 2^low, less than 2^high; below[e] have one below 2^(e - 1075). */
typedef struct {
  size_t n, below[CLARKE_EXPONENTS + 1];
  long low, high;
} clarke_weight_bits;

/* W's rows in digits: integers of width bits but for the highest plane's, which may have more. Its highest planes are side by side,
 * row by row; the lower ones are lists. */
typedef struct {
  clarke_digit_matrix m;
  double mass, of_lists; /* the sizes of all digits of a row, together, at most; and of its lists' */
} clarke_cut_weight;

void clarke_weight_bits_count(clarke_weight_bits *b, const double *v, size_t n); /* counts the bits of v */
/* How W, whose rows' sizes add up to `sum` at most, is cut at the least cost for products with so many bits; the cost of an entry,
 * in multiplications; infinity: it cannot be cut. */
double clarke_cut_weight_choose(clarke_cut_weight *w, const clarke_weight_bits *b, size_t inner, double sum, long bits);
/* The digits of W, as was chosen; real: its numbers, as d has them, or as many in another order. Sums of products with digits of
 * w->m.width bits, a row's or those of all rows whose numbers are equal modulo `apart`, are exact: width becomes less where they
 * would not be. Where none is little enough f->lost is set. */
clarke_status clarke_cut_weight_make(clarke_slicing *f, const clarke_dense *d, const double *real, size_t apart,
                                     clarke_cut_weight *w);
void clarke_cut_weight_clear(clarke_cut_weight *w);

#endif
