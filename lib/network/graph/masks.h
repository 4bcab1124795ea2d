/* What of each sample is data beside the input: masks of Dropout nodes in training mode, which a file does not have, and which the batch
 * has by the names of the nodes' outputs; and further inputs of a model with a batch axis. */
#ifndef CLARKE_NETWORK_GRAPH_MASKS_H
#define CLARKE_NETWORK_GRAPH_MASKS_H

#include "op/model.h"

/* Each array of the batch (n of them, in `file`) that is named after a Dropout's output becomes that node's fourth input. It has the
 * output's shape, of all samples, and is 1 where an entry stays, 0 where it is dropped. In a single run it is a constant. Where the
 * model has a batch axis, masks differ from sample to sample, as the input does: they follow its entries. So do the arrays of the model's
 * further inputs there, which must declare the first one's type and first axis; of these `behind` is set. `with` (initialized) is then
 * the array (samples, entries) that the model reads in the place of x, whose count is else 0. */
clarke_status clarke_masks_take(clarke_model *m, clarke_tensor *with, const clarke_tensor *x, const clarke_tensor *batch, size_t n,
                                const char *file, clarke_error *err);

#endif
