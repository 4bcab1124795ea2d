/* Cross entropy, as smooth.h has it. */
#ifndef CLARKE_SMOOTH_ENTROPY_H
#define CLARKE_SMOOTH_ENTROPY_H

#include "check/kernel/smooth.h"

/* The derivative of a sample's cross entropy by its outputs. */
void entropy_slopes(const point *p, interval *d, size_t n, size_t sample);
/* Where a derivative of the loss comes from. */
bool entropy_origins(const point *p, const cell *c, struct origins *of);

#endif
