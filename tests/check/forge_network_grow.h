/* Random small networks, as models and as formulas side by side. */
#ifndef CLARKE_TESTS_CHECK_FORGE_NETWORK_GROW_H
#define CLARKE_TESTS_CHECK_FORGE_NETWORK_GROW_H

#include "forge_network_oracle.h"

#include "op/model.h"

enum { MOST_SAMPLES = 5, MOST_ROW = 24, MOST_TENSORS = 40, MOST_KEPT = 12 };

typedef enum { IS_WEIGHT, IS_STATISTIC, IS_OTHER } role;

typedef struct {
  char at[16];
  size_t rank, dims[2]; /* of one sample */
  size_t y[MOST_SAMPLES][MOST_ROW];
} activation;

typedef struct {
  clarke_model m;
  clarke_tensor x, y; /* y: targets, or labels when it is integer */
  size_t samples;
  formula f;
  claim claim; /* weights as they are in m; wrt, proxies, rules and loss as drawn */
  size_t base[MOST_TENSORS], n_weights; /* of a tensor's first entry, in the claim */
  role role[MOST_TENSORS];
  bool wrt[MOST_TENSORS];
  /* while it grows */
  uint64_t *state;
  activation now, kept[MOST_KEPT];
  size_t n_kept, n_names;
} network;

/* False when it became too large; clear it all the same. */
bool network_grow(network *net, uint64_t *state);
void network_clear(network *net);

/* Draws proxies, rules and the loss anew. */
void draw_statement(network *net, uint64_t *state);
/* Draws anew what is in wrt, and numbers its entries in c. */
void draw_wrt(network *net, uint64_t *state);
void number_wrt(claim *c, const network *net);
double draw_weight(uint64_t *state);

#endif
