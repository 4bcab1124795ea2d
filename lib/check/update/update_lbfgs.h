/* Proofs about steps of torch-lbfgs (docs/proof-format.md, "Steps of torch-lbfgs"), each of which asks for several
 * gradients. */
#ifndef CLARKE_KERNEL_UPDATE_LBFGS_H
#define CLARKE_KERNEL_UPDATE_LBFGS_H

#include "check/update/update_rule.h"

/* A change of the gradient, and that of theta; 1 / (y s). */
typedef struct {
  interval *y, *s, ro;
} lbfgs_pair;

/* Theta and what a step leaves behind. */
typedef struct {
  const update *rule;
  size_t n, k, n_pairs; /* k: iterations of all steps */
  interval *theta, *d, *previous, t, scale;
  lbfgs_pair *pairs; /* the oldest first */
} lbfgs_state;

void lbfgs_begin(lbfgs_state *l); /* its n, k and n_pairs are set; zeros */
void lbfgs_end(lbfgs_state *l);   /* frees them */

/* d = -H g, by the two loops over all pairs */
void lbfgs_direction(interval *d, const lbfgs_state *l, const interval *g);
void lbfgs_dot(interval *y, const interval *a, const interval *b, size_t n);
/* Is no number larger than q? */
bool lbfgs_small(const interval *x, size_t n, const rational *q, const char *what);

/* From behind the rule's name on; the process ends. */
void check_lbfgs(update *u);

#endif
