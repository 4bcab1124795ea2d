/* Entries of matrices as pairs of doubles. */
#ifndef CLARKE_EXACT_MATRIX_PAIRS_H
#define CLARKE_EXACT_MATRIX_PAIRS_H

#include "exact/matrix.h"

/* high[e] + low[e] is off[e] from the true value of entry e at most (row-major), |low[e]| at most 2^-53 |high[e]|. Infinity: it is too large, or
 * nothing is known of it. */
void clarke_matrix_pairs(double *high, double *low, double *off, const clarke_matrix *m);

#endif
