/* Which gradients a plan has in fixed point (docs/gradient.md). No bound rests on it. */
#ifndef CLARKE_NETWORK_DERIVE_GRADIENT_PLAN_FIXED_H
#define CLARKE_NETWORK_DERIVE_GRADIENT_PLAN_FIXED_H

#include "network/derive/gradient/planning.h"

/* Which gradients are in fixed point, and its unit: those that pairs are too coarse for, and what is read with them. *enough becomes
 * false where its limbs are too few. asked: is there to be any? */
void clarke_plan_fixed(clarke_planning *q, bool *enough, bool asked);
/* What so many operations on a value's gradient take, which has such a norm. */
double clarke_planning_rounded(const clarke_planning *q, size_t value, double operations, double size);

#endif
