/* Trees of proofs (docs/proof-format.md, "Trees"), read in preorder: the path to the line at hand is all that is kept. */
#ifndef CLARKE_KERNEL_TREE_H
#define CLARKE_KERNEL_TREE_H

#include "check/base/session.h"

/* The nodes above the line at hand, from the root on: how many subtrees each has, and the number of the one at hand. */
typedef struct {
  size_t depth, *among, *choice;
} tree_path;

#define TREE_LEAF 0
#define TREE_REFUTED NONE /* numbers of a proof are less: they fit a long */

/* What a kind of proof has for nodes and ends. `read` reads up to a node, whose number of subtrees it returns, or up to an end, a leaf or
 * refuted. The others may be NULL: they do not matter then. */
typedef struct {
  size_t (*read)(void *of);
  void (*enter)(void *of); /* the last node's subtree of that choice begins */
  void (*leave)(void *of); /* all its subtrees have been read */
} tree_rules;

/* Reads a tree, which must have a leaf. path: empty before and after. Returns the number of leaves. */
size_t tree_read(tree_path *path, const tree_rules *rules, void *of);

#endif
