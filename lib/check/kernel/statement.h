/* What a verified proof of a network says, in words: all that its truth depends on. */
#ifndef CLARKE_KERNEL_STATEMENT_H
#define CLARKE_KERNEL_STATEMENT_H

#include "check/kernel/point.h"

/* ---- These write on `account` */

void state_loss(const point *p);           /* which loss, and of what */
void state_parameters(const network *net); /* those in wrt */
/* What the verdict says of AD's output, to standard output. */
void print_verdict(const network *net, const char *verdict);
void print_zone(const network *net, bool compensation); /* likewise: what a zone says */
bool verdict_known(const char *verdict);

#endif
