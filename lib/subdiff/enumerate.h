/* Every pattern that can occur near w, as a tree: touches are visited in order, branching on each (a
 * window into its options); a branch is dead when the affine arguments chosen so far satisfy a Gordan relation (then
 * no point near w follows it: design, section 4). Leaves cover all cells, and may cover some
 * that do not occur. */
#ifndef CLARKE_SUBDIFF_ENUMERATE_H
#define CLARKE_SUBDIFF_ENUMERATE_H

#include "subdiff/system.h"

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
  int8_t *side;  /* LEAF: by touch; those not branched on are CLARKE_LEFT, or the first option */
} clarke_node;

typedef struct {
  size_t n_touches;
  size_t n, capacity;
  clarke_node *node; /* in preorder, - before +, options in order */
  bool complete;     /* false: given up at a limit; the nodes then cover nothing */
} clarke_tree;

#define CLARKE_TREE_NODES 2000
#define CLARKE_TREE_OPTIONS 26 /* letters of a proof */

void clarke_tree_init(clarke_tree *t);
void clarke_tree_clear(clarke_tree *t);
/* among, when not NULL, marks the touches to branch on: leaves have CLARKE_PROXY for the others. */
clarke_status clarke_enumerate(clarke_tree *t, const clarke_question *q, const bool *among,
                               clarke_error *err);

/* The gradient of the loss in all wrt parameters, by the samples that touch kinks (the others
 * contribute the same to AD and to every cell), with these sides (CLARKE_PROXY: the profile's
 * proxy): gradient[p], count x 1, no rows for zero. */
clarke_status clarke_partial_gradient(clarke_matrix *gradient, const clarke_question *q,
                                      const int8_t *side, clarke_error *err);

/* Where AD's output lies relative to the gradients under n lists of sides. */
typedef enum { CLARKE_INSIDE, CLARKE_OUTSIDE, CLARKE_UNSETTLED } clarke_place;

typedef struct {
  clarke_place place;
  mpq_t *weight; /* INSIDE: n weights, nonnegative, summing to 1 */
  clarke_row v;  /* OUTSIDE: <v, AD> > <v, gradient i> for every i */
} clarke_membership;

void clarke_membership_init(clarke_membership *m);
void clarke_membership_clear(clarke_membership *m, size_t n);
/* within, when not NULL, marks the columns that v may have, of the entries of all parameters: then the
 * place is OUTSIDE or UNSETTLED. */
clarke_status clarke_membership_find(clarke_membership *m, const clarke_question *q,
                                     int8_t *const *side, size_t n, const bool *within,
                                     clarke_error *err);

/* moves[k]: does touch k, which has no side (CLARKE_PROXY) and is not flat, move along v? Its argument,
 * or an option, has a derivative that is not certainly 0. */
clarke_status clarke_moves_along(bool *moves, const clarke_question *q, const int8_t *side,
                                 const clarke_row *v, clarke_error *err);

#endif
