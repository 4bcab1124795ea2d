/* The lines of a record's proof about running statistics (docs/proof-format.md, "Recorded steps"). */
#ifndef CLARKE_PROOF_WRITE_STATISTICS_H
#define CLARKE_PROOF_WRITE_STATISTICS_H

#include "trace/certify/certify.h"

#include <stdio.h>

/* known: by update, was all recorded that its node read? moderate: as clarke_record_is_moderate says. A line for each buffer that was
 * judged. What nothing can be said of has none: it may have more updates than a line, or none. */
void clarke_proof_put_statistics(FILE *out, const clarke_certify *c, const bool *known, bool moderate);

#endif
