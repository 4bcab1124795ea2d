/* Which cell, and which words, an argument asks for. */
#ifndef CLARKE_NETWORK_PASS_SERIES_EVALUATE_H
#define CLARKE_NETWORK_PASS_SERIES_EVALUATE_H

#include "network/pass/series/cell.h"

/* Words behind the point for that precision: two at least. */
size_t clarke_series_limbs(long precision);
/* The cell whose middle is nearest; false where there is none. */
bool clarke_series_find_cell(long *k, double x);

#endif
