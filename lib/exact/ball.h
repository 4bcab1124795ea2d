/* Entries of matrices as Arb balls, for the transcendental functions. */
#ifndef CLARKE_EXACT_BALL_H
#define CLARKE_EXACT_BALL_H

#include "exact/matrix.h"

#include <flint/flint.h>
#if __FLINT_RELEASE >= 30000
#include <flint/arb.h>
#include <flint/arb_mat.h>
#else
#include <arb.h>
#include <arb_mat.h>
#endif

/* A ball that holds entry (i,j). */
void clarke_matrix_get_ball(arb_t ball, const clarke_matrix *m, size_t i, size_t j,
                            long precision);

/* rows x cols (row-major) balls as a matrix with scale 2^-precision: an entry that is exactly a
 * multiple of it keeps radius 0. A ball that is not finite is CLARKE_EVAGUE: more precision may help. */
clarke_status clarke_matrix_set_balls(clarke_matrix *m, size_t rows, size_t cols, arb_srcptr balls,
                                      long precision, clarke_error *err);

#endif
