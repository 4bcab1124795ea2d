/* A tree for a vector v (branch and bound): sides of classes of parallel touches are chosen, those that matter most
 * along v first, until what is left open may add less than is still missing. */
#ifndef CLARKE_AUDIT_BRANCH_AND_BOUND_H
#define CLARKE_AUDIT_BRANCH_AND_BOUND_H

#include "audit/enumerate.h"
#include "audit/separation.h"
#include "audit/classes.h"

typedef enum {
  CLARKE_BOUNDED, /* every leaf is separated */
  CLARKE_VIOLATED, /* a cell was found that v does not seem to separate */
  CLARKE_EXHAUSTED,   /* too many nodes, no work left, or what is open outside the classes is too much */
} clarke_bounding;

/* tree: empty before, and complete only when BOUNDED. *work: systems that may still be solved; it falls. v: by the classes'
 * columns. separation: of the same v; NULL to guess by the classes' gains alone. cell: VIOLATED: the option of each class. */
clarke_status clarke_branch_and_bound(clarke_bounding *answer, clarke_tree *tree, size_t *cell, size_t *work,
                           const clarke_classes *c, const double *v,
                           const clarke_separation *separation, const clarke_question *q,
                           clarke_error *err);

#endif
