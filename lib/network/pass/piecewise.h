/* The values and slopes of a PIECEWISE step once each entry's place is known. */
#ifndef CLARKE_NETWORK_PASS_PIECEWISE_H
#define CLARKE_NETWORK_PASS_PIECEWISE_H

#include "network/pass/forward.h"

/* y = at each entry of x the value of the piece that is chosen there (piece, by entry). */
clarke_status clarke_piecewise_apply(clarke_matrix *y, const clarke_constants *constants,
                                     const clarke_step *step, const clarke_matrix *x,
                                     const clarke_branch *piece, clarke_error *err);

/* The slope of piece p at the step's kink k; f is the feature (for PRelu). */
void clarke_piecewise_side(mpq_t slope, const clarke_graph *g, const clarke_step *step, size_t f,
                           size_t k, bool right);

/* The slope of a piece at x, of a step's feature; PRelu's, too (clarke_pieces_slope has none). */
void clarke_piecewise_slope(mpq_t slope, const clarke_graph *g, const clarke_step *step, size_t f, size_t piece,
                            const mpq_t x);

/* Does a parabola join another piece at kink k with one slope? PRelu's pieces are lines. */
bool clarke_pieces_joined(const clarke_pieces *p, size_t k);

/* The slope at every entry strictly inside a piece, as an exact or enclosed matrix; entries at a
 * kink or open are zero, for the caller to fill. */
clarke_status clarke_piecewise_slopes(clarke_matrix *s, const clarke_constants *constants,
                                      const clarke_step *step, const clarke_matrix *x,
                                      const clarke_branch *piece, clarke_error *err);

/* Strictly inside a piece (piece < 0: no) that is a number whatever the argument? PRelu's left one has a slope. */
bool clarke_piece_is_number(const clarke_pieces *p, clarke_branch piece);

/* An upper bound of |slope| everywhere, PRelu's slopes included; infinite where an outer piece is a parabola. */
double clarke_piecewise_lipschitz(const clarke_graph *g, const clarke_step *step);

/* The same of arguments of at most `size` in absolute value; `everywhere` is the former. */
double clarke_piecewise_steepest(const clarke_step *step, double everywhere, double size);

#endif
