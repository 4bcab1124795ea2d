/* NORMALIZE steps and their derivative. */
#ifndef CLARKE_NETWORK_PASS_NORMALIZE_H
#define CLARKE_NETWORK_PASS_NORMALIZE_H

#include "network/pass/forward.h"

/* NORMALIZE of x, over all samples when it couples them. */
clarke_status clarke_normalize_apply(clarke_matrix *y, const clarke_step *s, const clarke_matrix *x,
                                     long precision, clarke_error *err);
/* Its derivative in a pass times g, which is the tangent of x or, the derivative being symmetric, the
 * gradient of y. */
clarke_status clarke_normalize_derivative(clarke_matrix *d, const clarke_step *s,
                                          const clarke_forward *f, const clarke_matrix *g,
                                          clarke_error *err);

/* The same divided by each group's root, r > 0: exact, of an exact x. */
clarke_status clarke_normalize_up_to_root(clarke_matrix *d, const clarke_step *s, const clarke_matrix *x,
                                          const clarke_matrix *g, clarke_error *err);

#endif
