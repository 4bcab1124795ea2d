/* Norms of weights. */
#ifndef CLARKE_NETWORK_NORMS_OPERATOR_NORM_H
#define CLARKE_NETWORK_NORMS_OPERATOR_NORM_H

#include "base/status.h"

/* At least the 2-norm of W, rows x cols doubles. Infinity where it is not known; the status is CLARKE_OK then. */
clarke_status clarke_operator_norm(double *norm, const double *w, size_t rows, size_t cols, clarke_error *err);

#endif
