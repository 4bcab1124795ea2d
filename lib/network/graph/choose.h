/* One output of a model, and what it is computed from. */
#ifndef CLARKE_NETWORK_GRAPH_CHOOSE_H
#define CLARKE_NETWORK_GRAPH_CHOOSE_H

#include "op/model.h"

/* Fails where the model has not one output; the message names them, and how one is chosen. */
clarke_status clarke_output_is_one(const clarke_model *m, clarke_error *err);
/* Leaves of a model that was just read the output of that name, and the nodes that it is computed from; m->left_out gets the names
 * of initializers that none of these reads. NULL: all stays, and there must be one output. */
clarke_status clarke_output_choose(clarke_model *m, const char *name, clarke_error *err);

#endif
