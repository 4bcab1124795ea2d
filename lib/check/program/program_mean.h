/* Arcs whose gradients, weighted, add up to AD's output because their choices have AD's derivatives for their means
 * (docs/proof-format.md, "Means of choices"). */
#ifndef CLARKE_KERNEL_PROGRAM_MEAN_H
#define CLARKE_KERNEL_PROGRAM_MEAN_H

#include "check/program/program_walk.h"

/* What the arcs have chosen so far at each instruction. */
typedef struct blend blend;
typedef struct {
  size_t n_cells;
  blend *of;
  rational weight; /* of the first arc */
  bool even;       /* there are two arcs, of one weight */
} means;

void means_begin(means *m, const walk *w);                 /* without arcs */
void means_add(means *m, walk *w, const rational *weight); /* the arc that was followed last */
/* Is the sum of instruction `at`'s gradients, weighted, AD's derivative of it? False: that is not told. */
bool means_are_ads(means *m, walk *w, size_t at);
void means_end(means *m, const walk *w);

#endif
