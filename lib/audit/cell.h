/* A cell: a side for every touched kink, and directions that realize it.
 *
 * Along D = D_1 + d D_2 + d^2 D_3 + ..., d > 0 small, a kink's argument leaves to the sign of the
 * first nonzero of its derivatives along D_1, D_2, ... under the cell (compare Park et al., Lemma
 * 12). When that is the chosen sign for every touch that is not flat, F's gradient at w + t D, t
 * small, tends to the cell's: the cell's gradient is in the Bouligand set. A touch whose argument has the gradient zero
 * under the cell rests: whichever side it takes, nothing comes from it (docs/proof-format.md). */
#ifndef CLARKE_AUDIT_CELL_H
#define CLARKE_AUDIT_CELL_H

#include "audit/direction.h"
#include "audit/question.h"

typedef struct {
  /* by touch: CLARKE_LEFT or CLARKE_RIGHT, CLARKE_OPTION(o); flat ones may say CLARKE_PROXY */
  clarke_branch *side;
  bool *flat;
  bool *rests; /* by condition: its gradient under the cell is zero, so that no side is asked for */
  size_t n;
  clarke_direction *direction; /* n of them, the dominating first */
} clarke_cell;

void clarke_cell_init(clarke_cell *c);
void clarke_cell_clear(clarke_cell *c);

/* Copies the sides (NULL: AD's) and finds which touches are flat under them. */
clarke_status clarke_cell_set(clarke_cell *c, const clarke_question *q, const clarke_branch *side,
                              clarke_error *err);

/* Finds the conditions that rest: those of moving touches whose gradient over all wrt entries is zero under the cell,
 * and rational. What nothing moves in its own layer's parameters is looked at, no more. *any: one was found. */
clarke_status clarke_cell_rest(bool *any, clarke_cell *c, const clarke_question *q,
                               clarke_error *err);

/* Does this condition of the touch ask for its side: is it neither flat nor at rest, nor the side's own option? */
bool clarke_cell_asks(const clarke_cell *c, const clarke_question *q, size_t k, size_t condition);
/* Does any? */
bool clarke_cell_moves(const clarke_cell *c, const clarke_question *q, size_t k);

/* Sides that the touches have, and valid directions. */
bool clarke_cell_is_valid(const clarke_cell *c, const clarke_question *q);

/* Appends an empty direction; NULL when out of memory. */
clarke_direction *clarke_cell_direction(clarke_cell *c, clarke_error *err);

/* Do the directions realize the cell? step: CLARKE_NONE, or of one layer's touches alone (those of what a MAX pools, too). */
clarke_status clarke_cell_verify(bool *realized, size_t step, const clarke_cell *c, const clarke_question *q,
                                 clarke_error *err);

#endif
