/* Pairs and balls. */
#ifndef CLARKE_NETWORK_DERIVE_GRADIENT_ANALYTIC_H
#define CLARKE_NETWORK_DERIVE_GRADIENT_ANALYTIC_H

#include "exact/ball.h"
#include "network/derive/gradient/gradient.h"

/* The middle of a ball, and what that is off by; infinity where nothing is known. */
clarke_pair clarke_pair_of_ball(double *off, const arb_t ball);
/* Exactly. */
void clarke_ball_of_pair(arb_t ball, clarke_pair x);

/* Is an ANALYTIC step's function followed? Its output's numbers and their errors; the operand's gradient. */
bool clarke_analytic_is_followed(const clarke_step *s);
clarke_status clarke_analytic_forward(clarke_gradient_pass *p, const clarke_step *s);
clarke_status clarke_analytic_back(clarke_gradient_pass *p, const clarke_step *s);

#endif
