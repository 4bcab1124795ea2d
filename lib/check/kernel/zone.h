/* Zones (docs/proof-format.md, "Zones"): does what backpropagation computes depend on choices at kinks and ties? */
#ifndef CLARKE_KERNEL_ZONE_H
#define CLARKE_KERNEL_ZONE_H

#include "check/kernel/point.h"

/* The lines `cut`: no choice changes it. */
void check_compensation(const point *p);
/* From `loss` on, of a network at its weights, with its batch: the whole claim. Is it compensation, not bifurcation? */
bool check_zone(point *p);

#endif
