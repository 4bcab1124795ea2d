/* The lines of trees, in proofs about programs that are followed (docs/proof-format.md, "Programs"). */
#ifndef CLARKE_KERNEL_PROGRAM_TREE_H
#define CLARKE_KERNEL_PROGRAM_TREE_H

#include "check/program/program_walk.h"

/* `tree`: every pattern near the point is a leaf or dead. may_open: forks may be left open. at_leaf: the execution is at the end
 * of a leaf's choices, depth of them. Returns the number of leaves. */
size_t check_tree(walk *w, bool may_open, void (*at_leaf)(void *what, const size_t *choices, size_t depth), void *what);

#endif
