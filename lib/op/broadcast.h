/* Two inputs or more, entry by entry. */
#ifndef CLARKE_OP_BROADCAST_H
#define CLARKE_OP_BROADCAST_H

#include "op/operator.h"

/* NumPy broadcasting of inputs 0 and 1 to per-sample dims (room for one more), with a map into each (NULL: identity);
 * at least one is an activation. *batch: where the batch is then. */
clarke_status clarke_lower_broadcast(clarke_lowering *low, size_t *rank, size_t *dims,
                                     size_t **map0, size_t **map1, clarke_batch_axis *batch,
                                     clarke_error *err);

/* The same of inputs 0 to n - 1, with n maps. */
clarke_status clarke_lower_broadcast_all(clarke_lowering *low, size_t n, size_t *rank, size_t *dims, size_t **map,
                                         clarke_batch_axis *batch, clarke_error *err);

#endif
