/* The values and slopes of a PIECEWISE step once each entry's place is known. */
#ifndef CLARKE_NETWORK_PIECEWISE_H
#define CLARKE_NETWORK_PIECEWISE_H

#include "network/forward.h"

clarke_status clarke_piecewise_apply(clarke_matrix *y, const clarke_constants *constants,
                                     const clarke_step *step, const clarke_matrix *x,
                                     const int8_t *piece, clarke_error *err);

/* The slope of piece p at the step's kink k; f is the feature (for PRelu). */
void clarke_piecewise_side(mpq_t slope, const clarke_graph *g, const clarke_step *step, size_t f,
                           size_t k, bool right);

/* The slope of a piece at x. */
void clarke_piecewise_slope(mpq_t slope, const clarke_graph *g, const clarke_step *step, size_t f, size_t piece,
                            const mpq_t x);

/* The slope at every entry strictly inside a piece, as an exact or enclosed matrix; entries at a
 * kink or open are zero, for the caller to fill. */
clarke_status clarke_piecewise_slopes(clarke_matrix *s, const clarke_constants *constants,
                                      const clarke_step *step, const clarke_matrix *x,
                                      const int8_t *piece, clarke_error *err);

/* Strictly inside a piece (piece < 0: no) that is a number whatever the argument? PRelu's left one has a slope. */
bool clarke_piece_is_number(const clarke_pieces *p, int8_t piece);

/* An upper bound of |slope| everywhere, PRelu's slopes included. */
double clarke_piecewise_lipschitz(const clarke_graph *g, const clarke_step *step);

#endif
