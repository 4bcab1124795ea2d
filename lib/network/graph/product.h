/* Entries of GATHER, SUM, SCALE and DENSE steps as sums of products. */
#ifndef CLARKE_NETWORK_GRAPH_PRODUCT_H
#define CLARKE_NETWORK_GRAPH_PRODUCT_H

#include "network/graph/graph.h"

/* coef * x * c, or of a SCALE that divides coef * x / c or coef * x / sqrt(c + epsilon): x an entry of an activation, c of a
 * constant; 1 where the value is CLARKE_NONE. */
typedef struct {
  double coef;
  size_t x, x_entry, c, c_entry;
} clarke_product;

/* At most so many products has an entry of the step's output. */
size_t clarke_step_products_most(const clarke_step *s);
/* Those of entry f, padding left out; how many. The step is one of the four kinds. */
size_t clarke_step_products(clarke_product *list, const clarke_graph *g, const clarke_step *s, size_t f);

#endif
