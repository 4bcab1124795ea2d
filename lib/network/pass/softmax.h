/* Softmax and LogSoftmax: SOFTMAX steps, and what their derivatives share. */
#ifndef CLARKE_NETWORK_PASS_SOFTMAX_H
#define CLARKE_NETWORK_PASS_SOFTMAX_H

#include "exact/ball.h"
#include "network/pass/forward.h"

/* Softmax of n balls, `stride` apart, or its logarithm, in their place. */
void clarke_softmax_balls(arb_ptr y, size_t n, size_t stride, bool logarithm, long precision);

/* The step's value of x, in enclosures. */
clarke_status clarke_softmax_apply(clarke_matrix *y, const clarke_step *s, const clarke_matrix *x, long precision, clarke_error *err);

/* Sums over each softmax group, repeated at its entries. */
clarke_status clarke_softmax_groups(clarke_matrix *y, const clarke_step *s, const clarke_matrix *x,
                                    clarke_error *err);

/* Softmax itself in a pass: of a LogSoftmax step, exp of its value. */
clarke_status clarke_softmax_probabilities(clarke_matrix *y, const clarke_step *s,
                                           const clarke_forward *f, clarke_error *err);

#endif
