/* Running statistics of normalizations, beside what was recorded of the minibatch (docs/proof-format.md, "Statistics"). */
#ifndef CLARKE_KERNEL_RECORD_STATISTIC_H
#define CLARKE_KERNEL_RECORD_STATISTIC_H

#include "check/record/record.h"

/* Reads the rest of a line `statistic NAME ...` but for the answer, and judges what was recorded of the buffer behind
 * the step. *after: that; NULL when there is none. */
answer record_statistic(record *r, const char *name, const tensor **after);

/* States the nodes that normalize by the minibatch's own statistics, and of which no line brings a mean and a variance up to date. */
void record_untold_statistics(const record *r);

#endif
