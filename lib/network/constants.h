/* A graph's constants as matrices. */
#ifndef CLARKE_NETWORK_CONSTANTS_H
#define CLARKE_NETWORK_CONSTANTS_H

#include "exact/matrix.h"
#include "network/graph.h"

typedef struct {
  const clarke_graph *g;
  /* The graph's constants as matrices: a weight of two axes in its stored shape, the rest as one
   * column. Made once, shared by passes. */
  clarke_matrix *constant; /* n_values */
} clarke_constants;

clarke_status clarke_constants_init(clarke_constants *c, const clarke_graph *g, clarke_error *err);
void clarke_constants_clear(clarke_constants *c);

#endif
