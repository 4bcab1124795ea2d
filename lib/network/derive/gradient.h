/* AD's gradient of a minibatch's loss without exact arithmetic, with a bound of what that takes (docs/gradient.md).
 *
 * Where every argument lies is known from a replay. What is left is a polynomial in parameters and inputs, whose gradient is
 * computed by reverse mode in pairs of doubles. With every value and gradient goes, for each sample, a bound of the Euclidean
 * norm of its errors. */
#ifndef CLARKE_NETWORK_DERIVE_GRADIENT_H
#define CLARKE_NETWORK_DERIVE_GRADIENT_H

#include "network/derive/loss.h"
#include "op/profile.h"

typedef struct {
  size_t n;       /* parameters */
  double **entry; /* n: as many as the parameter has; NULL: zeros, or not in wrt */
  double *within; /* n: no entry is farther than this from AD's exact one */
} clarke_gradient;

clarke_status clarke_gradient_init(clarke_gradient *gradient, size_t n, clarke_error *err);
void clarke_gradient_clear(clarke_gradient *gradient);

/* Does the pass below follow all steps on the way to the output? Lines as pieces, and windows that are touched give all to the
 * first of the largest. */
clarke_status clarke_gradient_serves(bool *serves, const clarke_replay *r, const clarke_profile *profile, clarke_error *err);

/* Bounds are to be below 2^-bits of each tensor's largest entry; far below what float32 rounds. */
#define CLARKE_GRADIENT_BITS 28

/* The gradient, initialized, of a replay that has no open entry and that is served, near enough for these bits or as near as it
 * gets. *found is false when its bound is too wide to be of use, or a number too large: nothing is known then. outputs, initialized, becomes a pass that holds the network's
 * outputs alone, enclosed. */
clarke_status clarke_gradient_run(clarke_gradient *gradient, bool *found, clarke_forward *outputs, const clarke_replay *r,
                                  const clarke_profile *profile, const clarke_loss *loss, int bits, clarke_error *err);

#endif
