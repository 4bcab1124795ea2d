/* The gradients, of all outputs end to end, that a proof says are all of the Bouligand subdifferential. */
#ifndef CLARKE_KERNEL_GRADIENT_LIST_H
#define CLARKE_KERNEL_GRADIENT_LIST_H

#include "check/base/value.h"

typedef struct {
  size_t n_gradients, size, width; /* size: of entries of one: of all outputs; width: of one output */
  rational *gradients;
  bool *met;
} gradient_list;

/* `gradients N`, and N lines in increasing order. Returns N. */
size_t gradient_list_read(gradient_list *l, size_t outputs, size_t variables);
void gradient_list_meet(gradient_list *l, const rational *gradient); /* that of some pattern: it is one of the list */
void gradient_list_end(gradient_list *l);                            /* each of the list is that of some pattern */
void gradient_list_state(gradient_list *l);                          /* on the account */

#endif
