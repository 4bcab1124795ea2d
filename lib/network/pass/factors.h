/* The sign of a number by the signs of its factors, where an enclosure of the number does not tell: sigmoid(-15000) is above 0, and far below
 * what the highest precision shows. (docs/proof-format.md, "Sizes") */
#ifndef CLARKE_NETWORK_PASS_FACTORS_H
#define CLARKE_NETWORK_PASS_FACTORS_H

#include "network/pass/forward.h"

/* -1 or 1, the sign of the entry; 2: it is not told. The pass has the values up to this one. */
int clarke_factors_sign(const clarke_forward *f, size_t value, size_t feature, size_t column);

#endif
