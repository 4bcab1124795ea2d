/* SOFTMAX steps in a gradient. */
#ifndef CLARKE_NETWORK_DERIVE_GRADIENT_SOFTMAX_H
#define CLARKE_NETWORK_DERIVE_GRADIENT_SOFTMAX_H

#include "network/derive/gradient/gradient.h"

/* Its output's numbers and their errors; the operand's gradient. */
clarke_status clarke_softmax_forward(clarke_gradient_pass *p, const clarke_step *s);
clarke_status clarke_softmax_back(clarke_gradient_pass *p, const clarke_step *s);

/* By how much errors of the operand grow at most; and by how much the derivative turns, by the operand's error. */
double clarke_softmax_growth(const clarke_step *s);
double clarke_softmax_bend(const clarke_step *s);

#endif
