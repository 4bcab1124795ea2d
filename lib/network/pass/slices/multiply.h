/* A product in slices at work: W and x are cut, and there is room. */
#ifndef CLARKE_NETWORK_PASS_SLICES_MULTIPLY_H
#define CLARKE_NETWORK_PASS_SLICES_MULTIPLY_H

#include "network/pass/slices/argument.h"
#include "network/pass/slices/weight.h"

/* Products of a part of a sum that rounds. */
#define CLARKE_SUMMED ((size_t)192)

typedef struct {
  const clarke_dense *d;
  const clarke_sliced *x;
  double largest;        /* x's digit of its highest plane, in size */
  const size_t *map;     /* NULL: the argument's columns are there */
  clarke_cut_weight w;   /* not made where there is no digit of x */
  clarke_recut cut;      /* x: its tail is multiplied as doubles, with roundings */
  double off, off_norm;  /* by no more than which an entry of that product is off, and all of them, in y's lowest places */
  size_t first;          /* places of W and x together below it are left out: */
  double dropped;        /* no more than so many of y's lowest places an entry */
  size_t places;         /* of a block, gathered at a time */
  size_t taps;           /* of windows, where x is multiplied as it is, by W's entries for each tap; 0: columns are gathered */
  clarke_dense done;     /* d, or, with taps, what is done: rows of W for one tap after another, one column a channel */
  double *turned;        /* W's numbers so */
  double *made;          /* sum, or what taps make, before it is moved */
  double *panel;         /* x's digits, the highest first, then the tail, of inner rows each */
  double *sum;           /* outer rows of products of a place and what is carried to it, */
  double *pending;       /* as many of what is below, on a place of y, */
  double *rest;          /* of W times the tail, on y's lowest place, */
  double *part;          /* and of a part of that */
} clarke_slice_product;

/* y's digits. Where y has too few planes f->lost is set. */
void clarke_slice_multiply(clarke_slicing *f, const clarke_slice_product *p, clarke_sliced *y);

#endif
