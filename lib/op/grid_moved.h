/* GridSample by a grid that is computed of activations. */
#ifndef CLARKE_OP_GRID_MOVED_H
#define CLARKE_OP_GRID_MOVED_H

#include "op/operator.h"

/* What is seen: the nearest entry, or what lies between entries; outside the border's entry, or 0; and whether -1 and 1 are the middles of
 * the entries at the ends. */
typedef struct {
  bool nearest, border, corners;
} clarke_grid_rules;

/* The node's image is input 0, the grid input 1, both activations. */
clarke_status clarke_lower_moved_grid(clarke_lowering *low, const clarke_grid_rules *rules, clarke_error *err);

#endif
