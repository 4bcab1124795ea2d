/* Is a program locally Lipschitz near the point? Where it is not, it has no Clarke subdifferential to be in. */
#ifndef CLARKE_PROGRAM_LIPSCHITZ_H
#define CLARKE_PROGRAM_LIPSCHITZ_H

#include "program/execute.h"

#define CLARKE_LIPSCHITZ_WHY 256

/* *known: it is, for certain; else why (of CLARKE_LIPSCHITZ_WHY bytes) says what may be in the way. It is when, of all that
 * may be executed near the point,
 *   - no logarithm, root or divisor that varies is at the end of its domain, by its value at the point, and
 *   - a branch whose comparands are equal at the point has arms that are equal wherever these are: its comparands
 *     vary with one entry of wrt, and the arms are one polynomial where that is held; or the difference of the arms is
 *     a multiple of that of the comparands, all being polynomials of inputs and of instructions taken as variables.
 * Then F is continuous and everywhere one of finitely many functions, each smooth on a ball around the point but for
 * kinks of Lipschitz functions: so it is Lipschitz itself (Scholtes, Introduction to Piecewise Differentiable
 * Equations, Proposition 4.1.2, whose proof takes no more).
 * *far: when it is known, an instruction that may be executed near the point, but not in clarke-check: its argument is past
 * these powers of 2, and intervals there have 4096 bits behind the point; CLARKE_NONE when there is none. */
#define CLARKE_REACH_EXP 11
#define CLARKE_REACH_CIRCLE 4000 /* sin, cos */
clarke_status clarke_lipschitz(bool *known, char *why, size_t *far, const clarke_execution *e,
                               clarke_error *err);

#endif
