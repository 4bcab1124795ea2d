/* Scalings of values: what their errors are measured by, beside plainly (docs/filter.md, "Scalings"). */
#ifndef CLARKE_NETWORK_PASS_SLICES_SCALING_H
#define CLARKE_NETWORK_PASS_SLICES_SCALING_H

#include "network/norms/growth.h"
#include "network/pass/slices/sizes.h"

/* scaling[v], n_values, all none before: one for what reaches a normalization over all samples by sums and moves alone, for that
 * to make no error larger. No bound rests on the choice. */
clarke_status clarke_scalings_choose(clarke_scaling *scaling, const clarke_graph *g, const bool *needed, const clarke_sizes *z,
                                   clarke_error *err);

/* By how much more an entry of a SUM's or GATHER's output counts than that of operand k which it takes, at most; without
 * coefficient. */
double clarke_scaling_growth(const clarke_scaling *scaling, const clarke_graph *g, const clarke_step *s, size_t k);

#endif
