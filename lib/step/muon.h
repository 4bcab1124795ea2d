/* Muon's iteration, which makes a matrix nearly orthogonal. */
#ifndef CLARKE_STEP_MUON_H
#define CLARKE_STEP_MUON_H

#include "step/whole.h"

/* x over max(its norm, eps), then so many times a x + (b x x' + c (x x')^2) x; of a matrix with more rows than columns of the transposed one. All
 * results are balls. An error where the norm is not known to be above 0. */
clarke_status clarke_muon_iterate(clarke_number *x, const clarke_step_shape *s, const clarke_hypers *h, clarke_error *err);

#endif
