/* Numbers of the types of floats. */
#ifndef CLARKE_KERNEL_FLOATS_H
#define CLARKE_KERNEL_FLOATS_H

#include "check/files/tensors.h"

/* A type of floats: the binary digits of a number; 2^least is its smallest normal one, and all are below 2^most. */
void float_format(size_t type, long *digits, long *least, long *most);

/* q becomes the number of that type that is nearest to it, of two the even one. False where that is neither 0 nor a normal number; q is
 * nothing then. */
bool float_nearest(rational *q, size_t type);

#endif
