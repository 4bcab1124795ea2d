/* Every pattern that can occur near w, as a tree: touches are visited in order, branching on each (a
 * window into its options); a branch is dead when the affine arguments chosen so far satisfy a Gordan relation (then
 * no point near w follows it: design, section 4). Leaves cover all cells, and may cover some
 * that do not occur. */
#ifndef CLARKE_AUDIT_ENUMERATE_H
#define CLARKE_AUDIT_ENUMERATE_H

#include "exact/points.h"
#include "audit/system.h"

typedef enum { CLARKE_BRANCH, CLARKE_DEAD, CLARKE_LEAF } clarke_node_kind;

/* A positive multiplier of what a side asks of a touch branched on. */
typedef struct {
  size_t touch, condition;
  mpq_t u;
} clarke_multiplier;

typedef struct {
  clarke_node_kind kind;
  size_t touch;  /* BRANCH */
  size_t n;      /* DEAD: in the order of touch, then condition */
  clarke_multiplier *multiplier;
  clarke_branch *side;  /* LEAF: by touch; CLARKE_PROXY: open (branch_and_bound.h) */
} clarke_node;

typedef struct {
  size_t n, capacity;
  clarke_node *node; /* in preorder, - before +, options in order */
  size_t *parallel;  /* by touch: the one, branched on, whose sides it takes, or CLARKE_NONE; NULL: none does */
  bool complete;     /* false: given up at a limit; the nodes (none, when it was not begun) then cover nothing */
} clarke_tree;

#define CLARKE_TREE_OPTIONS 26 /* letters of a proof */

void clarke_tree_init(clarke_tree *t);
void clarke_tree_clear(clarke_tree *t);
/* One more node, all zeros but the kind; NULL when out of memory. */
clarke_node *clarke_tree_add(clarke_tree *t, clarke_node_kind kind);
/* The sides of all leaves, borrowed: *n of them; NULL when out of memory. */
clarke_branch **clarke_tree_leaves(const clarke_tree *t, size_t *n);
clarke_status clarke_enumerate(clarke_tree *t, const clarke_question *q, clarke_error *err);

/* One tree in preorder: no touch branched on twice on a path; of a dead node the multipliers above 0, in order, of touches
 * on its path; of a leaf sides that the touches have. */
bool clarke_tree_is_valid(const clarke_tree *t, const clarke_question *q);

#endif
