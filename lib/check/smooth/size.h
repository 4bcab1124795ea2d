/* The sign of a number whose interval does not tell, by what it is made of: sigmoid(-15000) is above 0 (docs/proof-format.md, "Sizes"). */
#ifndef CLARKE_SMOOTH_SIZE_H
#define CLARKE_SMOOTH_SIZE_H

#include "check/kernel/point.h"

/* -1 or 1: that of entry e of step s; 0: it is not told. */
int sign_by_size(const point *p, size_t s, size_t e);

#endif
