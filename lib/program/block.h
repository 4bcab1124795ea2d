/* A matrix product of a network left whole: what unrolled is a product and a sum for each entry (clarke_unroll_folded).
 *
 * Its results are INPUT instructions, one after another, a group of their own, which the replay in floats fills. It is replayed
 * as the instructions would be that it stands for, number for number. */
#ifndef CLARKE_PROGRAM_BLOCK_H
#define CLARKE_PROGRAM_BLOCK_H

#include "program/code.h"

typedef struct {
  size_t first, n;         /* its results */
  clarke_dense shape;
  size_t n_weights;
  const double *weight;    /* the matrix's entries as stored: n_weights */
  size_t *parameter;       /* by entry of the matrix: its instruction; NULL: they are numbers */
  size_t n_x, *x;          /* by entry of the argument: its instruction; CLARKE_NONE: padding, no term of any sum */
} clarke_block;

/* A normalization over all samples, left whole as well: its results, INPUT instructions in a group of their own, are filled for all
 * samples at once. It is replayed as the instructions of one sample's would be, of which each group has the entries of all
 * samples, those of the first before those of the second. */
typedef struct {
  size_t first, n;         /* its results */
  size_t *x;               /* by entry of the argument: its instruction */
  const clarke_step *step; /* the graph's */
} clarke_coupling;

/* The terms of a result: of term i the entries weight + i weight_step of the matrix, and x + i x_step of the argument. */
typedef struct {
  size_t weight, weight_step, x, x_step;
} clarke_block_row;

/* The terms of result f. */
static inline clarke_block_row
clarke_block_row_of(const clarke_dense *d, size_t f)
{
  const size_t repeat = f % d->repeat, outer = f / d->repeat % d->outer, block = f / d->repeat / d->outer;

  return (clarke_block_row){
    .weight = (d->transposed ? outer : outer * d->inner) + (d->grouped ? block * d->outer * d->inner : 0),
    .weight_step = d->transposed ? d->outer : 1,
    .x = block * d->inner * d->repeat + repeat,
    .x_step = d->repeat,
  };
}

#endif
