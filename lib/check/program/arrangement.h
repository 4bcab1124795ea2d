/* Proofs about arrangements. */
#ifndef CLARKE_KERNEL_ARRANGEMENT_H
#define CLARKE_KERNEL_ARRANGEMENT_H

#include "check/base/session.h"

/* After `claim arrangement`: the rest, and the statement written. */
void check_arrangement(const char *folder);

#endif
