/* Shares of a step's constants in their parameters' gradients. */
#ifndef CLARKE_NETWORK_DERIVE_GRADIENT_CONSTANTS_H
#define CLARKE_NETWORK_DERIVE_GRADIENT_CONSTANTS_H

#include "network/derive/gradient/gradient.h"

/* A SUM's operand k, a constant: the sum over samples, and over what meets the entry, of its output's gradient. */
clarke_status clarke_sum_constant(clarke_gradient_pass *p, const clarke_step *s, size_t k, const clarke_normed *g);
/* A SCALE's factors: of the output's gradient times x. */
clarke_status clarke_scale_constant(clarke_gradient_pass *p, const clarke_step *s, const clarke_normed *g);

#endif
