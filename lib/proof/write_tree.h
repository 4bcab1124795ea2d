/* Trees and arcs (docs/proof-format.md, "Trees", "Programs"). */
#ifndef CLARKE_PROOF_WRITE_TREE_H
#define CLARKE_PROOF_WRITE_TREE_H

#include "program/patterns.h"

#include <stdio.h>

/* `branch WHAT`, `leaf`, or `dead` with its multipliers. option, where it is not NULL, writes what stands between a multiplier's
 * number and its weight. */
void clarke_proof_put_node(FILE *out, const clarke_node *node, size_t what, void (*option)(void *of, const clarke_multiplier *m), void *of);
/* `arc R` and R steps of that many entries, which realize the pattern. */
void clarke_proof_put_arc(FILE *out, const clarke_pattern *p, size_t width);

#endif
