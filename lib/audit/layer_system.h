/* Algorithm 1: the system P_l of a layer, its blocks, and the system of all layers. */
#ifndef CLARKE_AUDIT_LAYER_SYSTEM_H
#define CLARKE_AUDIT_LAYER_SYSTEM_H

#include "audit/audit.h"

/* P_l over the whole minibatch. counts: NULL when not asked for. */
clarke_status clarke_layer_system(clarke_cone_answer *answer, clarke_direction *d,
                                  clarke_block_counts *counts, const clarke_layer *layer,
                                  const clarke_cell *cell, const clarke_question *q,
                                  clarke_error *err);

/* The global system, in all parameters at once. */
clarke_status clarke_first_order(clarke_cone_answer *answer, clarke_direction *d,
                                 const clarke_cell *cell, const clarke_question *q,
                                 clarke_error *err);

/* The blocks of the layer's system under the cell that have no direction, one after another: the
 * touches in each. clarke_blocks_end is for what begin left, whatever it returned. */
typedef struct clarke_blocks clarke_blocks;
clarke_status clarke_blocks_begin(clarke_blocks **b, const clarke_layer *layer,
                                  const clarke_cell *cell, const clarke_question *q,
                                  clarke_error *err);
/* Marks the touches that a block of the system holds; none when its rows are not exact. A row of zeros is in no block. */
void clarke_blocks_touches(bool *touch, const clarke_blocks *b);
clarke_status clarke_blocks_next(bool *found, bool *touch, clarke_blocks *b, clarke_error *err);
void clarke_blocks_end(clarke_blocks *b);

#endif
