/* Near values in doubles, which decide most pieces and windows of networks without lines (docs/checker.md, "Near values in
 * doubles"). Samples are side by side. */
#ifndef CLARKE_NEAR_ROUGH_H
#define CLARKE_NEAR_ROUGH_H

#include "check/kernel/point.h"

/* Fills what it can of place, and open[b] becomes false of samples of which it filled all. */
void rough_places(point *p, bool *open);

#endif
