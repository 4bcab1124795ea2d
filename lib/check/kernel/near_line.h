/* Near values of steps whose entries depend on a line: NORMALIZE and SOFTMAX. */
#ifndef CLARKE_KERNEL_NEAR_LINE_H
#define CLARKE_KERNEL_NEAR_LINE_H

#include "check/kernel/near_step.h"

/* Fills v[s], where what it reads is known, of a sample, or all that are coupled. Is anything known of it? */
bool near_lines(const point *p, near *v, size_t s, size_t sample);

#endif
