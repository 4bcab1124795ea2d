/* How steps pass errors on, the same for all samples. */
#ifndef CLARKE_NETWORK_SLICES_GROWTH_H
#define CLARKE_NETWORK_SLICES_GROWTH_H

#include "network/slices/plan.h"

/* Step i's growth, row, column and apart. */
clarke_status clarke_slice_growth(clarke_slice_plan *p, size_t i, clarke_error *err);

#endif
