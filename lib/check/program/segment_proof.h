/* Proofs about a function along a segment. */
#ifndef CLARKE_KERNEL_SEGMENT_PROOF_H
#define CLARKE_KERNEL_SEGMENT_PROOF_H

#include "check/base/session.h"

void check_segment(const char *folder); /* after `claim segment`: the rest, and the statement written */

#endif
