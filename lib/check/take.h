/* Operators that take some entries along an axis: Slice, Split, Gather by constant indices. */
#ifndef CLARKE_KERNEL_TAKE_H
#define CLARKE_KERNEL_TAKE_H

#include "builder.h"

void lower_slice(builder *b);
void lower_split(builder *b);
void lower_gather(builder *b);

#endif
