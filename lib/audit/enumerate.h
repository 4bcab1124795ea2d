/* Every pattern that can occur near w, as a tree: touches are visited in order, branching on each (a
 * window into its options); a branch is dead when the affine arguments chosen so far satisfy a Gordan relation (then
 * no point near w follows it: design, section 4). Leaves cover all cells, and may cover some
 * that do not occur. */
#ifndef CLARKE_AUDIT_ENUMERATE_H
#define CLARKE_AUDIT_ENUMERATE_H

#include "exact/points.h"
#include "audit/system.h"
#include "pattern/tree.h"

#define CLARKE_TREE_OPTIONS 26 /* letters of a proof */

/* The sides of all leaves, borrowed: *n of them; NULL when out of memory. */
clarke_branch **clarke_tree_leaves(const clarke_tree *t, size_t *n);
clarke_status clarke_enumerate(clarke_tree *t, const clarke_question *q, clarke_error *err);

/* One tree in preorder: no touch branched on twice on a path; of a dead node the multipliers above 0, in order, of touches
 * on its path; of a leaf sides that the touches have. */
bool clarke_tree_is_valid(const clarke_tree *t, const clarke_question *q);

#endif
