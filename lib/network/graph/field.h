/* What an activation sees of the input: its receptive field, through kernels, strides, padding, pools and all else that is between. */
#ifndef CLARKE_NETWORK_GRAPH_FIELD_H
#define CLARKE_NETWORK_GRAPH_FIELD_H

#include "network/graph/graph.h"

/* seen[e], by the input's entries of one sample: may the value's entry depend on it? A weight that is 0 counts as any other. Of what
 * steps couple, other samples are left out. *work is taken down by what was looked at: *whole is false, and seen says nothing, where it
 * did not suffice. */
clarke_status clarke_field_find(bool *seen, bool *whole, size_t *work, const clarke_graph *g, size_t value, size_t entry,
                                clarke_error *err);

#endif
