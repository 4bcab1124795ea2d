/* Directions that lead to cells whose gain along v is large: a guess, in floats. */
#ifndef CLARKE_AUDIT_ASCENT_H
#define CLARKE_AUDIT_ASCENT_H

#include "audit/classes.h"

/* option[i], by class: the best cell met; *value: its gain along v (by column). `state` draws the starts. */
clarke_status clarke_ascend(size_t *option, double *value, const clarke_classes *c,
                           const double *v, uint64_t *state, clarke_error *err);

/* The next number of a fixed sequence, between -1 and 1. */
double clarke_draw(uint64_t *state);

#endif
