/* The bounds that a plan will lead to, by what a look has seen. No bound rests on it. */
#ifndef CLARKE_NETWORK_DERIVE_GRADIENT_FORETELL_H
#define CLARKE_NETWORK_DERIVE_GRADIENT_FORETELL_H

#include "network/derive/gradient/planning.h"

/* q->value and q->grad become the errors that are foretold. The largest part of what is borne (of 2^0) that a bound is. */
double clarke_plan_farthest(clarke_planning *q);
/* Will all bounds be below 2^-bits of it? */
bool clarke_plan_foretell(clarke_planning *q, int bits);

#endif
