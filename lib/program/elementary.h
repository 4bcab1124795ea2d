/* The elementary functions of programs: where their arguments lie, their values and their partial
 * derivatives once that is known. The one place in which a program's comparisons are decided. */
#ifndef CLARKE_PROGRAM_ELEMENTARY_H
#define CLARKE_PROGRAM_ELEMENTARY_H

#include "program/code.h"

typedef enum { CLARKE_PLACE_INSIDE, CLARKE_PLACE_KINK, CLARKE_PLACE_OPEN } clarke_place_kind;

/* A PIECEWISE or ELU at x: *piece is the piece that x is strictly inside, or whose right end, kink
 * *piece, x is at (a kink whose two slopes differ; at another one x counts as inside). */
clarke_place_kind clarke_pointwise_place(size_t *piece, const clarke_instruction *i,
                                         const clarke_number *x, long precision);

/* An ORDER of the numbers value[i->in[.]]: tied (n_in places) gets the indices of those equal to
 * its value, in increasing order. False when a comparison is open. */
bool clarke_order_place(size_t *tied, size_t *n_tied, size_t *rank_in_tie,
                        const clarke_instruction *i, const clarke_number *value, long precision);

/* The sign of in[0] - in[1] of a BRANCH: -1, 0, 1, or 2 (open). */
int clarke_branch_place(const clarke_instruction *i, const clarke_number *value, long precision);

/* The value of a PIECEWISE or ELU on a piece, and its slope there (NULL: not wanted). */
void clarke_pointwise_value(clarke_number *y, clarke_number *slope, const clarke_instruction *i,
                            size_t piece, const clarke_number *x, long precision);

/* The one-sided slopes at kink k: always rational. */
void clarke_kink_slopes(mpq_t left, mpq_t right, const clarke_instruction *i, size_t kink);

/* What a smooth instruction (LINEAR, PRODUCT, QUOTIENT, ANALYTIC, CONSTANT, NORM away from zero) is,
 * and, when d is not NULL, its partial derivatives (n_in numbers). Outside the domain:
 * CLARKE_EINPUT, with the place; *open instead when the precision does not tell. */
clarke_status clarke_smooth_value(clarke_number *y, clarke_number *d, bool *open,
                                  const clarke_code *p, size_t i, const clarke_number *value,
                                  long precision, clarke_error *err);

/* Are all arguments of a NORM exactly zero? */
bool clarke_norm_at_zero(const clarke_instruction *i, const clarke_number *value);

#endif
