/* Proofs about the regions of piecewise linear functions. */
#ifndef CLARKE_KERNEL_REGION_PROOF_H
#define CLARKE_KERNEL_REGION_PROOF_H

#include "check/base/session.h"

void check_regions(const char *folder); /* after `claim regions`: the rest, and the statement written */

#endif
