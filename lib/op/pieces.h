/* Pointwise operators of one input that are polynomials piece by piece. */
#ifndef CLARKE_OP_PIECES_H
#define CLARKE_OP_PIECES_H

#include "op/operator.h"

/* A pointwise piecewise step on input 0 with n_kinks kinks, all coefficients zero to begin with:
 * the caller fills kinks and pieces. */
clarke_step *clarke_lower_pointwise(clarke_lowering *low, size_t n_kinks, clarke_error *err);
/* The whole of a pointwise operator of one input: its pieces, with these constants. */
clarke_status clarke_lower_pieces(clarke_lowering *low, mpq_t *constant, clarke_error *err);
/* Drops kinks whose two slopes agree, then finishes the node. */
clarke_status clarke_lower_pieces_done(clarke_lowering *low, clarke_step *step, clarke_error *err);

#endif
