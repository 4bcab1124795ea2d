/* How near each step of a gradient is to be (docs/gradient.md). */
#ifndef CLARKE_NETWORK_DERIVE_GRADIENT_PLAN_H
#define CLARKE_NETWORK_DERIVE_GRADIENT_PLAN_H

#include "network/derive/gradient/gradient.h"

/* Room for a plan that has doubles everywhere, and for what a pass sees. What there is is dropped, also when it failed. */
clarke_status clarke_gradient_plan_init(clarke_gradient_plan *plan, const clarke_graph *g, clarke_error *err);
void clarke_gradient_plan_clear(clarke_gradient_plan *plan);
clarke_status clarke_gradient_sizes_init(clarke_gradient_sizes *seen, const clarke_graph *g, clarke_error *err);
void clarke_gradient_sizes_clear(clarke_gradient_sizes *seen);

/* Makes bounds of 2^-bits of each tensor's largest entry likely, at little cost. few: a pass over some samples that has seen them,
 * and its gradient. *enough is false where pairs are not near enough for that on the way back, or forward where the pass in slices
 * does not follow. */
clarke_status clarke_gradient_plan_choose(clarke_gradient_plan *plan, bool *enough, const clarke_gradient_pass *few, int bits);

/* As near as it gets. */
void clarke_gradient_plan_finest(clarke_gradient_plan *plan, const clarke_graph *g);

#endif
