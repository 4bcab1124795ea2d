/* Sums of near values: of a LINEAR step, of OVER_ROOT, and of products. */
#ifndef CLARKE_NEAR_SUM_H
#define CLARKE_NEAR_SUM_H

#include "check/near/near_step.h"

/* Fills v[s] of a step of sums, and of one of products of entries, whose sources are known; for a sample, or all samples
 * when they are coupled. */
void near_sums(const point *p, near *v, size_t s, size_t sample);
void near_products(const point *p, near *v, size_t s, size_t sample);

#endif
