/* A weight in digits, for products in slices (docs/filter.md, "Slices"). */
#ifndef CLARKE_NETWORK_SLICES_WEIGHT_H
#define CLARKE_NETWORK_SLICES_WEIGHT_H

#include "network/slices/slices.h"

/* An entry of a plane of W that is a list. */
typedef struct {
  size_t plane, row, column;
  double digit;
} clarke_listed;

/* W in digits: its highest planes side by side, block by block outer x (dense * inner); the entries of the lower. */
typedef struct {
  size_t planes, dense;
  long low;
  double *digit;
  clarke_listed *list;
  size_t n_listed, room, *begin; /* begin[b]: where a block's are; one more at the end */
} clarke_cut_weight;

/* W's places: low, planes, and how many of these are dense. Where they are too many f->lost is set. */
clarke_status clarke_cut_weight_measure(clarke_slicing *f, const clarke_dense *d, clarke_cut_weight *w);
/* The digits of W, which has been measured; real: its numbers, as d has them, or as many in another order. Where sums of
 * `together` of its products would be too long f->lost is set. */
clarke_status clarke_cut_weight_make(clarke_slicing *f, const clarke_dense *d, const double *real, size_t together,
                                     clarke_cut_weight *w);
void clarke_cut_weight_clear(clarke_cut_weight *w);

#endif
