/* A tree for a vector v (branch and bound): sides of classes of parallel touches are chosen, until what is left open may
 * add less than is still missing. Witnesses guess which class to take next, and which options are alive (pool.h); the
 * others are refuted, by a Gordan vector met before (circuits.h) or by a new one. */
#ifndef CLARKE_AUDIT_BRANCH_AND_BOUND_H
#define CLARKE_AUDIT_BRANCH_AND_BOUND_H

#include "audit/refutations.h"
#include "audit/separation.h"

typedef enum {
  CLARKE_BOUNDED, /* every leaf is separated */
  CLARKE_VIOLATED, /* a cell was found that v does not seem to separate */
  CLARKE_EXHAUSTED,   /* too many nodes, no work left, or what is open outside the classes is too much */
} clarke_bounding;

/* What the trees of one block have in common. */
typedef struct {
  const clarke_question *q;
  const clarke_classes *c;
  clarke_refutations circuits;
  size_t work;  /* systems that may still be solved; it falls */
  size_t nodes; /* of a tree, at most */
  size_t solved, recalled; /* counted: systems; dead ends by a vector met before */
  bool tree_full;          /* a tree reached its nodes, or the work ended: more might do */
} clarke_search;

/* work: of all trees; nodes: of each. */
void clarke_search_init(clarke_search *s, const clarke_question *q, const clarke_classes *c, size_t work, size_t nodes);
void clarke_search_clear(clarke_search *s);

/* tree: empty before, and complete only when BOUNDED. v: by the classes' columns. separation: of the same v; NULL to guess by
 * the classes' gains alone. cell: VIOLATED: the option of each class. */
clarke_status clarke_branch_and_bound(clarke_bounding *answer, clarke_tree *tree, size_t *cell, clarke_search *search,
                                      const double *v, const clarke_separation *separation, clarke_error *err);

#endif
