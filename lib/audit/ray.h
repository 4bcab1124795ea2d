/* Cells that are met along random directions: each comes with the directions that realize it. */
#ifndef CLARKE_AUDIT_RAY_H
#define CLARKE_AUDIT_RAY_H

#include "audit/cell.h"

#include <stdint.h>

#define CLARKE_RAYS 256        /* how many are tried */
#define CLARKE_LINES 4         /* pairs of opposite ones */
#define CLARKE_RAY_ENTRIES 512 /* wrt entries, at most, that move one by one: each is a move of the proof */

/* Draws two directions of small whole numbers; some entries stay. (Of more entries than CLARKE_RAY_ENTRIES it moves whole
 * parameters.) turned: the directions that the same state gives, turned around. The touches take the sides to which the first of them moves
 * their arguments, or else the second; behind them arguments move as these sides say. *realized: all others rest, and the
 * directions realize the cell. state draws. */
clarke_status clarke_ray_cell(bool *realized, clarke_cell *c, uint64_t *state, bool turned,
                              const clarke_question *q, clarke_error *err);
/* The same along a direction that is given, and emptied. */
clarke_status clarke_ray_along(bool *realized, clarke_cell *c, clarke_direction *d, const clarke_question *q, clarke_error *err);

#endif
