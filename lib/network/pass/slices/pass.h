/* A pass in slices over some samples: what a filter left open, in digits as fine as the plan says (docs/filter.md). */
#ifndef CLARKE_NETWORK_PASS_SLICES_PASS_H
#define CLARKE_NETWORK_PASS_SLICES_PASS_H

#include "network/pass/forward.h"
#include "network/pass/slices/plan.h"

/* x: some samples, its first axis; all where steps couple them. piece, ties and margin (NULL: not asked for), over these
 * samples, are as clarke_forward_refine has them: open places become what bounds decide strictly, or identity does of
 * windows. No kink is ever found to be touched. What the pass cannot follow stays open. */
clarke_status clarke_slices_run(clarke_branch **piece, size_t **ties, clarke_margin **margin, const clarke_slice_plan *p,
                                const clarke_tensor *x, clarke_error *err);

/* Does it follow steps of the kind? */
bool clarke_slices_has(clarke_step_kind kind);

#endif
