/* The tree of a proof about regions (docs/proof-format.md, "Regions"): rows, their signs, circuits that refute branches, and
 * leaves, each with a point. The program's forms are forms.h's. */
#ifndef CLARKE_KERNEL_REGION_TREE_H
#define CLARKE_KERNEL_REGION_TREE_H

#include "check/program/forms.h"
#include "check/program/region_box.h"
#include "check/program/signs.h"

typedef struct {
  forms *form;
  const program *prog;
  size_t width; /* of rows */
  bool local;
  region_box box; /* not local */
  signs sign;
  struct row_of *rows_of;       /* of each row, the kink */
  size_t *done, n_done;         /* instructions that became known, or asked */
  bool *known, *asked;          /* by instruction: its form is set; its kinks have rows */
  signed char (*side)[2];       /* by instruction and kink */
  struct decision_point *nodes; /* of the path */
  size_t trying;                /* the maximum's candidate of which the next line tells; or NONE */
  size_t *candidates;           /* of the maxima on the path */
  integer *scratch;             /* a row */
  void (*leaf)(void *what);
  void *what;
} region_tree;

/* Begins an empty tree over the forms' program in n variables. local: around z = 0; else in a box. */
void region_tree_begin(region_tree *t, forms *f, size_t n, bool local);
/* A row that is positive in the box: n + 1 integers, copied. */
void region_tree_bound(region_tree *t, const integer *row);
/* Reads the tree; how many leaves it has. At each the forms are the region's, and `leaf` is called. */
size_t region_tree_check(region_tree *t, void (*leaf)(void *what), void *what);

#endif
