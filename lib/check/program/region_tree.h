/* The tree of a proof about regions (docs/proof-format.md, "Regions"): rows, their signs, circuits that refute branches, and
 * leaves, each with a point. The program's forms are forms.h's. */
#ifndef CLARKE_KERNEL_REGION_TREE_H
#define CLARKE_KERNEL_REGION_TREE_H

#include "check/program/program.h"

/* Of that program in n variables. local: around z = 0; else in a box. */
void region_tree_begin(const program *p, size_t n, bool local);
/* A row that is positive in the box: n + 1 integers, copied. */
void region_tree_bound(const integer *row);
/* Reads the tree; how many leaves it has. At each the forms are the region's, and `leaf` is called. */
size_t region_tree_check(void (*leaf)(void));

#endif
