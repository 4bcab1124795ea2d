/* ANALYTIC steps of a gradient. */
#ifndef CLARKE_NETWORK_DERIVE_GRADIENT_ANALYTIC_H
#define CLARKE_NETWORK_DERIVE_GRADIENT_ANALYTIC_H

#include "exact/ball.h"
#include "network/derive/gradient/gradient.h"

/* Is an ANALYTIC step's function followed? Its output's numbers and their errors; the operand's gradient. */
bool clarke_analytic_is_followed(const clarke_step *s);
clarke_status clarke_analytic_forward(clarke_gradient_pass *p, const clarke_step *s);
clarke_status clarke_analytic_back(clarke_gradient_pass *p, const clarke_step *s);

#endif
