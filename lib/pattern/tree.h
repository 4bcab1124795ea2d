/* Trees of patterns: what can occur near a point, as sides or choices one after another.
 *
 * A path asks that some quantities be positive. Where a sum of them, with positive weights, is nowhere positive, nothing near the point
 * follows it (Gordan). The trees are of audits (audit/enumerate.h, audit/branch_and_bound.h) and of programs (program/patterns.h): what
 * their paths ask, and how a refutation is found, are theirs. */
#ifndef CLARKE_PATTERN_TREE_H
#define CLARKE_PATTERN_TREE_H

#include "base/status.h"
#include "op/step.h"

#include <gmp.h>
#include <stdbool.h>
#include <stddef.h>

/* The weight of what a path asks: of a touch by one of its conditions, or of a decision. */
typedef struct {
  size_t of, condition;
  mpq_t u;
} clarke_multiplier;

/* Weights above 0, in the order of what they are of. */
typedef struct {
  size_t n;
  clarke_multiplier *multiplier;
} clarke_gordan;

/* Those of n weights that are not 0, which are above. condition: NULL where there are none. g: empty. */
clarke_status clarke_gordan_read(clarke_gordan *g, mpq_t *u, const size_t *of, const size_t *condition, size_t n, clarke_error *err);
clarke_status clarke_gordan_copy(clarke_gordan *to, const clarke_gordan *from, clarke_error *err); /* to: empty */
void clarke_gordan_clear(clarke_gordan *g);                                                        /* of one that is zeroed, too */
/* One or more, in order, above 0. */
bool clarke_gordan_is_valid(const clarke_gordan *g);

typedef enum { CLARKE_BRANCH, CLARKE_DEAD, CLARKE_LEAF } clarke_node_kind;

typedef struct {
  clarke_node_kind kind;
  size_t at;            /* BRANCH: the touch, or the instruction */
  size_t n_branches;    /* BRANCH: so many subtrees */
  size_t depth;         /* in a program: how many decisions are above */
  clarke_gordan gordan; /* DEAD */
  size_t leaf;          /* LEAF in a program: its pattern */
  clarke_branch *side;  /* LEAF in an audit: by touch; CLARKE_PROXY: open (branch_and_bound.h) */
} clarke_node;

typedef struct {
  size_t n, capacity;
  clarke_node *node; /* in preorder, branches in order */
  size_t *parallel;  /* in an audit, by touch: the one whose sides it takes, or CLARKE_NONE; NULL: none does */
  bool *opposite;    /* by touch: it takes the other side than that; NULL: none does */
  bool complete;     /* false: given up at a limit; the nodes (none, when it was not begun) then cover nothing */
} clarke_tree;

void clarke_tree_init(clarke_tree *t);
void clarke_tree_clear(clarke_tree *t);
/* One more node, all zeros but the kind; NULL when out of memory. */
clarke_node *clarke_tree_add(clarke_tree *t, clarke_node_kind kind);

#endif
