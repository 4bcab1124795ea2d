/* A pass in pairs of doubles over some samples: what a filter left open, with twice its bits (docs/filter.md, "Pairs"). */
#ifndef CLARKE_NETWORK_PASS_PAIRS_PASS_H
#define CLARKE_NETWORK_PASS_PAIRS_PASS_H

#include "network/pass/forward.h"

typedef struct clarke_pairs_pass clarke_pairs_pass;

/* What a test looks at: every value when it has been computed. NULL: nothing does. */
typedef struct {
  void (*seen)(void *context, const clarke_pairs_pass *f, size_t value);
  void *context;
} clarke_pairs_watch;

/* Does the pass follow the step? */
bool clarke_pairs_has(const clarke_step *s);

/* Bits that pairs have behind their first product. */
#define CLARKE_PAIRS_BITS 104

/* x: some samples, its first axis; all where steps couple them. piece, ties and margin (NULL: not asked for), over these samples, are
 * as clarke_forward_refine has them, and so is *inside. Open places become what bounds decide strictly, or identity does of windows:
 * no kink is ever found to be touched. What the pass cannot follow stays open. *vague: of how many of these more bits may tell more; the others
 * are at kinks, as a rule. rest: NULL, or what a pass in enclosures over these samples left: it goes on from there.
 * *needs: 0, or, where nothing is open yet and errors grow so fast that pairs would lose what is behind, the bits that all of it seems to ask for:
 * then the pass ends early. */
clarke_status clarke_pairs_run(clarke_branch **piece, size_t **ties, clarke_margin **margin, bool *inside, size_t *vague, double *needs, const clarke_graph *g,
                               const clarke_tensor *x, const clarke_forward_rest *rest, const clarke_pairs_watch *watch, clarke_error *err);

#endif
