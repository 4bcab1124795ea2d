/* A graph's constants as matrices. */
#ifndef CLARKE_NETWORK_PASS_CONSTANTS_H
#define CLARKE_NETWORK_PASS_CONSTANTS_H

#include "exact/matrix.h"
#include "network/graph/graph.h"

typedef struct {
  const clarke_graph *g;
  /* The graph's constants as matrices: a weight of two axes in its stored shape, the rest as one
   * column. Made once, shared by passes. */
  clarke_matrix *constant; /* n_values */
  bool made;               /* else all are empty */
} clarke_constants;

clarke_status clarke_constants_init(clarke_constants *c, const clarke_graph *g, clarke_error *err);
/* In two parts, where perhaps nobody asks: all empty; made from the graph's numbers, if they are not. */
clarke_status clarke_constants_begin(clarke_constants *c, const clarke_graph *g, clarke_error *err);
clarke_status clarke_constants_make(clarke_constants *c, clarke_error *err);
void clarke_constants_clear(clarke_constants *c);

#endif
