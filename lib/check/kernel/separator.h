/* Trees whose leaves AD's output is separated from, along a vector (docs/proof-format.md). */
#ifndef CLARKE_KERNEL_SEPARATOR_H
#define CLARKE_KERNEL_SEPARATOR_H

#include "check/kernel/evidence.h"

/* What leaves are: cells, or families of such (bound.h). */
typedef struct {
  const char *are; /* in words */
  void *(*begin)(
      claim *q); /* after the lines `v`, with the cell's sides all 0. Only sides may change in it from then on */
  /* The cell from which follows what is affine, whatever the path: itself, settled anew, or what is known under all sides. */
  const cell *(*given)(const void *of);
  /* May touched kink k be branched on, under the cell's sides, the last above being that, or NONE? */
  bool (*branches)(const void *of, const cell *c, size_t k, size_t above);
  void (*leaf)(const void *of, cell *c); /* fails unless all that has the cell's sides is separated */
} leaf_rules;

void check_separated(claim *q, const leaf_rules *rules); /* the lines `v`, and the tree */
void check_separator(claim *q, bool bouligand);          /* the same, of cells */

#endif
