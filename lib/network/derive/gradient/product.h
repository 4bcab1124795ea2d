/* PRODUCT steps in a gradient. */
#ifndef CLARKE_NETWORK_DERIVE_GRADIENT_PRODUCT_H
#define CLARKE_NETWORK_DERIVE_GRADIENT_PRODUCT_H

#include "network/derive/gradient/gradient.h"

/* Its output's numbers and their errors; its operands' gradients. */
clarke_status clarke_product_forward(clarke_gradient_pass *p, const clarke_step *s);
clarke_status clarke_product_back(clarke_gradient_pass *p, const clarke_step *s);

#endif
