/* Trees of choices and arcs, in proofs about programs (docs/proof-format.md, "Programs"). */
#ifndef CLARKE_PROOF_WRITE_TREE_H
#define CLARKE_PROOF_WRITE_TREE_H

#include "program/patterns.h"

#include <stdio.h>

/* `branch`, `leaf`, or `dead` with its multipliers. */
void clarke_proof_put_fork(FILE *out, const clarke_fork *f);
/* `arc R` and R steps of that many entries, which realize the pattern. */
void clarke_proof_put_arc(FILE *out, const clarke_pattern *p, size_t width);

#endif
