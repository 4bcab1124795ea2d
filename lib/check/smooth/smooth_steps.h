/* The rules of smooth steps, for networks that have some. */
#ifndef CLARKE_SMOOTH_SMOOTH_STEPS_H
#define CLARKE_SMOOTH_SMOOTH_STEPS_H

#include "check/kernel/smooth.h"

extern const smooth_rules smooth_steps;

#endif
