/* Cells near AD's own pattern: where AD's sides contradict each other, those that keep as many of them as a greedy walk does.
 * What they change in AD's output are few rows, so AD's output may be one of their gradients, or lie on a face between them
 * that cells along random directions miss. */
#ifndef CLARKE_AUDIT_APPROACH_H
#define CLARKE_AUDIT_APPROACH_H

#include "audit/sample.h"

/* Adds some such cells to the sample, of its block; each exactly realized, but for the classes that its direction leaves
 * alone. */
clarke_status clarke_approach(clarke_sample *s, const clarke_question *q, clarke_error *err);

#endif
