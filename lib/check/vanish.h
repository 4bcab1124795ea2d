/* Entries that are 0 by structure. */
#ifndef CLARKE_KERNEL_VANISH_H
#define CLARKE_KERNEL_VANISH_H

#include "point.h"

/* Is the entry 0, a sum of places left out, or in a NORMALIZE step's line of one function, which is its mean? (Of such
 * a line the entries before e have what same holds.) */
bool vanishes(const point *p, size_t s, size_t e);

#endif
