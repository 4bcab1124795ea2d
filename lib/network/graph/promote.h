/* Weights that are Constant nodes. */
#ifndef CLARKE_NETWORK_PROMOTE_H
#define CLARKE_NETWORK_PROMOTE_H

#include "op/model.h"

/* Constant nodes of floats whose outputs are among the names become initializers, as if the file had them so: after its
 * own, in the order of the nodes. The nodes stay in their places. Other names do not matter. */
clarke_status clarke_promote_constants(clarke_model *m, char *const *names, size_t n, clarke_error *err);

#endif
