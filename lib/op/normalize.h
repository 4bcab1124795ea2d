/* What the normalizations of a file share: steps one after another over an activation of input 0's shape.
 * The first takes input 0, each other one the value before it. */
#ifndef CLARKE_OP_NORMALIZE_H
#define CLARKE_OP_NORMALIZE_H

#include "op/axes.h"

typedef struct {
  size_t axes, whole[CLARKE_MAX_WHOLE]; /* input 0's whole axes */
  size_t rank, dims[CLARKE_MAX_RANK];   /* those of a sample */
  size_t space;                         /* entries over whole axes 2 and on */
  size_t value;                         /* the last step's; input 0 to begin with */
} clarke_chain;

/* Input 0 must be an activation of at least `least` whole axes. */
clarke_status clarke_chain_begin(clarke_chain *c, clarke_lowering *low, size_t least,
                                 clarke_error *err);

/* NORMALIZE, with the node's epsilon (default 1e-5), which must be above 0. */
clarke_status clarke_chain_normalize(clarke_chain *c, clarke_lowering *low, clarke_grouping grouping,
                                     clarke_error *err);

/* A step of two operands, the second the node's input i, without a map: a constant, or of SCALE and SUM what is computed of
 * constants. NULL when there is no memory. */
clarke_step *clarke_chain_step(clarke_chain *c, clarke_lowering *low, clarke_step_kind kind, size_t i,
                               clarke_error *err);

/* Input i must be a constant of one axis, or what is computed of constants, of n entries: n is what `per` says. Registers it as a
 * weight. */
clarke_status clarke_chain_weight(clarke_lowering *low, size_t i, const char *name, size_t n,
                                  const char *per, clarke_error *err);

/* SCALE times input 1, SUM with input 2, the entries of both read by `repeat` features in a row; done. */
clarke_status clarke_chain_affine(clarke_chain *c, clarke_lowering *low, size_t repeat, size_t period,
                                  clarke_error *err);

#endif
