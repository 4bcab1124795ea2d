/* What a verified proof of a network says in the end. */
#ifndef CLARKE_CHECK_NETWORK_VERDICT_H
#define CLARKE_CHECK_NETWORK_VERDICT_H

#include "check/kernel/steps.h"

/* What the verdict says of AD's output, to standard output. */
void print_verdict(const network *net, const char *verdict);
void print_zone(const network *net, bool compensation); /* likewise: what a zone says */
bool verdict_known(const char *verdict);

#endif
