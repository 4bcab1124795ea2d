/* Fingerprints: what a network's nodes compute, at one point modulo 2^61 - 1 (docs/proof-format.md, "Fingerprints"). */
#ifndef CLARKE_NETWORK_PASS_FINGERPRINT_H
#define CLARKE_NETWORK_PASS_FINGERPRINT_H

#include "network/graph/graph.h"

#include <stdint.h>

/* print[v], n_values: of each activation that is a node's output; of other values 0. */
clarke_status clarke_fingerprints(uint64_t *print, const clarke_graph *g, clarke_error *err);

#endif
