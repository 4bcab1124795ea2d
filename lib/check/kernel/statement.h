/* What a verified proof of a network says, in words: all that its truth depends on. */
#ifndef CLARKE_KERNEL_STATEMENT_H
#define CLARKE_KERNEL_STATEMENT_H

#include "check/kernel/point.h"

/* ---- These write on `account` */

void state_loss(const point *p);           /* which loss, and of what */
void state_parameters(const network *net); /* those in wrt */

#endif
