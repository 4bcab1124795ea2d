/* The bounds that a plan will lead to, by what a look has seen. No bound rests on it. */
#ifndef CLARKE_NETWORK_GRADIENT_FORETELL_H
#define CLARKE_NETWORK_GRADIENT_FORETELL_H

#include "network/gradient/planning.h"

/* Will all bounds be below 2^-bits of what they are to be a part of? q->value and q->grad become the errors that are foretold. */
bool clarke_plan_foretell(clarke_planning *q, int bits);

#endif
