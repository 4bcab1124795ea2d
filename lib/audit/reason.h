/* An undecided audit's reason: which kinks have no side, and what would settle it. */
#ifndef CLARKE_AUDIT_REASON_H
#define CLARKE_AUDIT_REASON_H

#include "audit/audit.h"

/* How many kinks move under AD's pattern: all; those that no direction is known for (in the blocks that were looked at; when
 * none was, in layers without a direction). layer: CLARKE_NONE for all together. */
typedef struct {
  size_t moving, sideless;
} clarke_side_counts;

/* Zeros where no cell was found: the first one is AD's. */
clarke_side_counts clarke_count_sides(const clarke_audit *a, const clarke_question *q, size_t layer);

/* Up to `most` neurons (features of the layer) without a side, increasing; returns how many there are. */
size_t clarke_sideless_neurons(size_t *neuron, size_t most, const clarke_audit *a, const clarke_question *q, size_t layer);

/* Fills a->why. */
void clarke_reason_write(clarke_audit *a, const clarke_question *q);

#endif
