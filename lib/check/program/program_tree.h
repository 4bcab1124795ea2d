/* The lines of trees and arcs, in proofs about programs that are followed (docs/proof-format.md, "Programs"). */
#ifndef CLARKE_KERNEL_PROGRAM_TREE_H
#define CLARKE_KERNEL_PROGRAM_TREE_H

#include "check/program/program_walk.h"

#define MAX_ORDER 8 /* of t in the series along an arc */

/* `arc R` and its R steps of an entry for each in wrt, which stand until the next call. Returns R. */
size_t read_arc(walk *w, const rational **steps);

/* `tree`: every pattern near the point is a leaf or dead. may_open: forks may be left open. at_leaf: the execution is at the end
 * of a leaf's choices, depth of them. Returns the number of leaves. */
size_t check_tree(walk *w, bool may_open, void (*at_leaf)(void *what, const size_t *choices, size_t depth), void *what);

#endif
