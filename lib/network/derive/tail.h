/* The loss that a model's own last nodes are, as a recorded step has it (docs/operators.md, "Losses in the graph"). */
#ifndef CLARKE_NETWORK_DERIVE_TAIL_H
#define CLARKE_NETWORK_DERIVE_TAIL_H

#include "network/derive/loss.h"

/* Takes the loss off the model: its nodes, its target from the inputs, and its scalar, in whose place the network's output
 * comes. *found is false, and the model as it was, when its last nodes are no loss that is known. Of the loss: its
 * kind, and which label it ignores. y is the batch's, or NULL. */
clarke_status clarke_tail_take(clarke_loss *loss, bool *found, clarke_model *m, const clarke_tensor *y,
                               clarke_error *err);

/* The graph of a model whose loss was taken off: the loss is of all samples of one run. A sum may be that of a run whose graph
 * has no batch axis. */
clarke_status clarke_tail_check(const clarke_graph *g, clarke_loss_kind kind, clarke_error *err);

#endif
