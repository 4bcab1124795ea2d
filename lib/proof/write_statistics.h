/* The lines of a record's proof about running statistics (docs/proof-format.md, section 7). */
#ifndef CLARKE_PROOF_WRITE_STATISTICS_H
#define CLARKE_PROOF_WRITE_STATISTICS_H

#include "trace/certify.h"

#include <stdio.h>

/* The checker's bound is its own, and about as large as ours, or larger: what is nearer to ours than this part is not claimed. */
#define CLARKE_PROOF_NEAR 0.8

/* A line for each buffer that was judged. What nothing can be said of has none: it may have more updates than a line, or none. */
void clarke_proof_put_statistics(FILE *out, const clarke_certify *c);

#endif
