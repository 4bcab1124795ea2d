/* The loss, and gradients. */
#ifndef CLARKE_KERNEL_GRADIENT_H
#define CLARKE_KERNEL_GRADIENT_H

#include "evaluate.h"

interval *loss_slopes(const point *p); /* [sample * n_outputs + output]: the loss's derivative by it */
void tangent_loss(interval *sum, const motion *d);
/* The gradient of the loss (k == NONE; when a is not 0 without that of samples in which no kink is touched), of the argument
 * of touched kink k, or of the difference of options a and b of touched window k, into the network's; one that is not
 * rational is a failure. Under a cell (or NULL), settled, of those slopes, nothing comes from what is constant. */
void gradient(const point *p, const rational *slope, const cell *c, size_t k, size_t a, size_t b);

void root_pull(const point *p, size_t s, size_t e, rational **adjoint);      /* as pull_back, of an OVER_ROOT step */
void normalize_pull(const point *p, size_t s, size_t e, rational **adjoint); /* of a NORMALIZE step */

#endif
