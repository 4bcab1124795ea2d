/* The gradients, of all outputs end to end, that a proof says are all of the Bouligand subdifferential. */
#ifndef CLARKE_KERNEL_GRADIENT_LIST_H
#define CLARKE_KERNEL_GRADIENT_LIST_H

#include "check/base/value.h"

/* `gradients N`, and N lines in increasing order. Returns N. */
size_t gradient_list_read(size_t outputs, size_t variables);
void gradient_list_meet(const rational *gradient); /* that of some pattern: it is one of the list */
void gradient_list_end(void);                      /* each of the list is that of some pattern */
void gradient_list_state(void);                    /* on the account */

#endif
