/* Exponentials in pairs of doubles, and what is made of them (docs/gradient.md). */
#ifndef CLARKE_NETWORK_PASS_EXPONENTIAL_H
#define CLARKE_NETWORK_PASS_EXPONENTIAL_H

#include "exact/pair.h"
#include "op/step.h"

/* exp(x) is off by at most so much of itself, for |x| <= CLARKE_PAIR_FAR; 1 / x by four units of pairs, for x from 2^-400 to 2^400. */
#define CLARKE_PAIR_EXP_UNIT 0x1p-96
#define CLARKE_PAIR_FAR 300
clarke_pair clarke_pair_exp(clarke_pair x);
clarke_pair clarke_pair_reciprocal(clarke_pair x);

/* A function, or its slope, and what that is off by: less than 2^-88. False: it has no such rule, or not there. */
bool clarke_pair_function(clarke_pair *y, double *off, clarke_pair x, clarke_function function, bool slope);

#endif
