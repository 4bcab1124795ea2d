/* The way down a tree of sides: what the sides chosen ask, one row each, and whether that can be met. */
#ifndef CLARKE_AUDIT_PATH_H
#define CLARKE_AUDIT_PATH_H

#include "audit/enumerate.h"

/* What a side of the touch asks by one of its conditions, its argument being affine. */
typedef struct {
  size_t touch, condition;
  clarke_row row;
} clarke_constraint;

typedef struct {
  size_t n;
  clarke_constraint *constraint;
} clarke_path;

/* A path of at most so many constraints. */
clarke_status clarke_path_init(clarke_path *p, size_t most, clarke_error *err);
void clarke_path_clear(clarke_path *p);

/* One more constraint: its row, empty. */
clarke_row *clarke_path_add(clarke_path *p, size_t touch, size_t condition);
/* Back to the first n constraints. */
void clarke_path_drop(clarke_path *p, size_t n);

/* FEASIBLE: d, unless it is NULL, gets the moves of a direction that follows the path. EMPTY: the tree gets a DEAD node. */
clarke_status clarke_path_solve(clarke_cone_answer *answer, clarke_direction *d, clarke_tree *t,
                                const clarke_path *p, const clarke_graph *g, clarke_error *err);

#endif
