/* What a proof asks about a network, line by line. Each writes on `account` what it read. */
#ifndef CLARKE_KERNEL_QUESTION_H
#define CLARKE_KERNEL_QUESTION_H

#include "check/kernel/point.h"

void read_loss(point *p);          /* which must be the model's own, if it ends in one, and fit the target */
void read_wrt(network *net);       /* and makes room for their directions and gradients */
void read_wrt_names(network *net); /* the same, of a line that is begun */

void read_touched(const point *p); /* how many touched kinks there are, which must be so */

/* Proxies, by operator and kink. */
typedef enum { PROXY_VALUE, PROXY_LEFT, PROXY_RIGHT } proxy_side;
proxy_side read_proxy(const char *op, size_t kink,
                      rational *value); /* the next line; a slope on a side, or the value */

#endif
