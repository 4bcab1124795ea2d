/* The one place that decides on which side of its kinks an exact or enclosed argument lies. */
#ifndef CLARKE_NETWORK_PASS_SIGN_H
#define CLARKE_NETWORK_PASS_SIGN_H

#include "network/pass/forward.h"

/* Writes piece[feature * n + column] for every entry of x, the argument of the PIECEWISE step, and
 * counts those left open. */
clarke_status clarke_sign_decide(clarke_branch *piece, size_t *open, const clarke_constants *constants,
                                 const clarke_step *step, const clarke_matrix *x,
                                 clarke_error *err);

/* An entry of the step that is open, and whose argument lies on a side of 0 by its factors (network/pass/factors.h), is open no more. */
void clarke_sign_by_factors(clarke_forward *f, size_t step);

#endif
