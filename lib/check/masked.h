/* Entries that are minus infinity, before a Softmax: an attention's mask. */
#ifndef CLARKE_KERNEL_MASKED_H
#define CLARKE_KERNEL_MASKED_H

#include "builder.h"

/* The constant with 0 in the place of what is infinite or NaN, which no parameter moves; what has none stays what it is. */
value without_odd(const builder *b, const value *v);
/* Where entry f of the constant is minus infinity, so is feature f of the step, the node's last: it is left out, and marked in the
 * node's output. False where it is a number. */
bool exclude(builder *b, step *s, size_t f, const value *v);
/* The softmax of lines of x, of what is not marked in each; 0 at what is. */
void put_masked(builder *b, const value *x, size_t length, size_t stride);
void lower_trilu(builder *b);

#endif
