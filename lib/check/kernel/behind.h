/* Which touched kinks lie behind others. */
#ifndef CLARKE_KERNEL_BEHIND_H
#define CLARKE_KERNEL_BEHIND_H

#include "check/kernel/point.h"

/* Does the argument of one of these touched kinks, or an entry of one of these windows, depend on the output of another? Slopes are
 * not asked: an entry depends on all that its step reads for it. */
bool one_behind_another(const point *p, const bool *among);

/* [step][entry] of windows with several tied entries that are one function near the weights, of which some depend on touched
 * kinks among those: their derivatives may differ by what is chosen there. c: settled without sides. NULL: none of the step. */
bool **loose_windows(const point *p, const cell *c, const bool *among);

#endif
