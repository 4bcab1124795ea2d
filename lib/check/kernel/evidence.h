/* Proofs about AD's output of a network. */
#ifndef CLARKE_KERNEL_EVIDENCE_H
#define CLARKE_KERNEL_EVIDENCE_H

#include "check/kernel/point.h"

/* Reads what a proof says of a network at its weights, with its batch: the lines behind its files, from `loss` on, and
 * the evidence for that verdict. What does not hold is a failure. */
void check_output(point *p, const char *verdict);

#endif
