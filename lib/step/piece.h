/* The pieces that rules are made of: sums of products, averages, quotients by roots, powers. Each holds all that a program in floats may make
 * of it, where the hyperparameters say how that rounds; else it is exact, or a root's or a power's ball. */
#ifndef CLARKE_STEP_PIECE_H
#define CLARKE_STEP_PIECE_H

#include "step/rule.h"

#define CLARKE_ROUNDINGS 12 /* of a piece, at most (piece.c) */

/* q = n 2^-bits. */
void clarke_piece_parts(mpq_t q, unsigned long n, long bits);
/* y holds all that is at most q |x| away, too. */
void clarke_piece_widen(clarke_number *y, const mpq_t q, const clarke_number *x);
/* y as it may be where it is off by `units` 2^-unit of itself, and by `least` 2^-tiny. */
void clarke_piece_off(clarke_number *y, unsigned long units, long unit, unsigned long least, long tiny);
/* y is the larger one; where balls do not tell, it holds both. */
void clarke_piece_larger(clarke_number *y, const clarke_number *a, const clarke_number *b);
/* y as it may be where results that are too small vanish. */
void clarke_piece_vanish(clarke_number *y, const clarke_hypers *h);
/* y as a float may have it: a sum, whose summands are a x and b z (z NULL: none; a factor NULL: 1). */
void clarke_piece_round(clarke_number *y, const clarke_hypers *h, mpq_srcptr a, const clarke_number *x, mpq_srcptr b, const clarke_number *z);
/* y as it may be where a number that all entries share is off: by 2^-scalar of one, and the number is c, or made of summands as large as
 * `size` (NULL: 1). */
void clarke_piece_share(clarke_number *y, const clarke_hypers *h, mpq_srcptr size, mpq_srcptr c, const clarke_number *x);

/* y = a y + b x; y += q x; theta -= q x. */
void clarke_piece_mix(clarke_number *y, mpq_srcptr a, mpq_srcptr b, const clarke_number *x, const clarke_hypers *h);
void clarke_piece_add(clarke_number *y, const mpq_t q, const clarke_number *x, const clarke_hypers *h);
void clarke_piece_descend(clarke_step_entry *e, const mpq_t q, const clarke_number *x, const clarke_hypers *h);

/* q = 1 - a; q may be a. q = 1 - a^n. */
void clarke_piece_rest(mpq_t q, const mpq_t a);
void clarke_piece_rest_of_power(mpq_t q, const mpq_t a, size_t n, const clarke_hypers *h);

/* The averages v of g^2 (sigma), and m of g (momentum). */
void clarke_piece_second_moment(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h);
void clarke_piece_first_moment(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h);

/* The root of v / c, with epsilon. In floats v is not below 0, so that its ball may be cut there. False: it is of what may be below 0. */
bool clarke_piece_root(clarke_number *root, const clarke_number *v, const mpq_t c, const clarke_hypers *h);
/* y = x / below, which is above 0; below is made with the shared number c. */
void clarke_piece_divide(clarke_number *y, const clarke_number *x, const clarke_number *below, const mpq_t c, const clarke_hypers *h);
/* x / (the root of v / c, with epsilon); x itself where gradients are preconditioned, or x is 0. */
clarke_status clarke_piece_precondition(clarke_number *y, const clarke_number *x, const clarke_step_entry *e, const mpq_t c,
                                        const clarke_hypers *h, clarke_error *err);
/* d is the gradient that the rule goes on with. Coupled decay is part of it; decoupled decay comes before the step. */
void clarke_piece_decay(clarke_step_entry *e, clarke_number *d, const clarke_number *g, const clarke_hypers *h);
/* A rational of too many bits goes on as a ball. */
void clarke_piece_shorten(clarke_number *x);

#endif
