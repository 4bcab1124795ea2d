/* What the files of a walk share: what is known of an instruction when it is done, and choices at kinks. Private to the
 * files walk*.c.
 *
 * For an instruction that is done near the point, value, gradient and degree are set, part where it has one, its polynomial
 * where it is one of degree 2, and its series when the walk is along an arc. The functions below that are given `at` find its
 * arguments done. */
#ifndef CLARKE_PROGRAM_WALK_INSIDE_H
#define CLARKE_PROGRAM_WALK_INSIDE_H

#include "program/walk.h"

/* --- walk.c: gradients and degrees --- */

/* Is it certainly zero? */
static inline bool
clarke_walk_is_zero(const clarke_number *x)
{
  return x->exact && mpq_sgn(x->q) == 0;
}

/* gradient[at] += d * gradient[from]; refused when it gets more bits than the limit allows. */
clarke_status clarke_walk_gradient_addmul(clarke_walk *w, size_t at, const clarke_number *d,
                                          size_t from, clarke_error *err);

/* Sets degree[at], gradient[at] being whole: an affine quantity of gradient zero is constant. */
void clarke_walk_settle(clarke_walk *w, size_t at, uint8_t degree);

/* The walk ends at this instruction: *state is STUCK, w->why names its place and says why. Returns CLARKE_OK. */
clarke_status clarke_walk_stuck(clarke_walk *w, clarke_walk_state *state, size_t at,
                                const char *why);

/* --- walk_polynomial.c --- */

/* y, which is zero, becomes instruction at, done; kept is false when that is not known to be a polynomial. */
void clarke_walk_polynomial(clarke_polynomial *y, const clarke_walk *w, size_t at);

/* y += q times instruction at. */
void clarke_walk_polynomial_addmul(clarke_polynomial *y, const mpq_t q, const clarke_walk *w,
                                   size_t at);

/* w->polynomial[at] is freed, if there is one. */
void clarke_walk_polynomial_drop(clarke_walk *w, size_t at);

/* Instruction at, of degree 2 as far as its arguments' degrees tell, as a polynomial: it may turn out
 * to be affine or constant, and its degree falls. Its part is chosen. */
clarke_status clarke_walk_refine(clarke_walk *w, size_t at, clarke_error *err);

/* --- walk_series.c: w->series[at] from its arguments', value and degree being set; w->lost[at] where it is not rational.
 * All but copy ask for a walk along an arc --- */

void clarke_walk_lose(clarke_walk *w, size_t at); /* its series is not known, so that the arc decides nothing */
/* An entry of wrt: the arc's own; another input stays without a series. */
clarke_status clarke_walk_series_input(clarke_walk *w, size_t at, clarke_error *err);
/* A LINEAR, PRODUCT, QUOTIENT, ANALYTIC or NORM; of the last two it is lost when they move. */
clarke_status clarke_walk_series_smooth(clarke_walk *w, size_t at, clarke_error *err);
/* A PIECEWISE or ELU of that piece. */
clarke_status clarke_walk_series_piece(clarke_walk *w, size_t at, size_t piece, clarke_error *err);
/* That of another instruction; nothing without an arc. */
clarke_status clarke_walk_series_copy(clarke_walk *w, size_t at, size_t from, clarke_error *err);

/* *series is freed, and NULL then. */
void clarke_walk_series_free(mpq_t **series);

/* CLARKE_SERIES - 1 zeros; NULL when out of memory. */
mpq_t *clarke_walk_series_new(void);

/* --- walk_norm.c --- */

/* A NORM at zeros that vary near the point; its value is set. Along an arc, its gradient there and its series: STUCK where
 * they are not rational. Else its gradient encloses all that occur. */
clarke_status clarke_walk_norm(clarke_walk *w, clarke_walk_state *state, size_t at, clarke_error *err);

/* --- walk_fork.c --- */

#define CLARKE_ANY_SIDE 2
/* The sign near the point of y_a - y_b, zero there (b == CLARKE_NONE: of y_a less a kink): 0 when it is identically zero,
 * CLARKE_ANY_SIDE of an open walk.
 * False: it is not chosen yet, and w->fork says what to choose. */
bool clarke_walk_sign_near(clarke_walk *w, size_t at, size_t a, size_t b, int *sign);

/* *taken: the instruction that is, near the point, the rank-th (from 1) of the *n tied entries left, from the end that
 * w->fork.up names; of an open walk CLARKE_NONE where it may be any of the *n that are left then. left and copy_of (*n places)
 * are spoiled. False: the walk stops at a fork. */
bool clarke_walk_take(clarke_walk *w, size_t at, size_t *left, size_t *n, size_t rank,
                      size_t *copy_of, size_t *taken);

/* Is y_a - y_b, not known to be identically zero near the point, known not to be? */
bool clarke_walk_differs(const clarke_walk *w, size_t a, size_t b);

/* --- walk_kink.c: an instruction that may be at a kink. *state is FORK where the walk waits for a choice; STUCK where no
 * precision tells. --- */

/* A PIECEWISE or ELU; an ORDER. */
clarke_status clarke_walk_pointwise(clarke_walk *w, clarke_walk_state *state, size_t at,
                                    clarke_error *err);
clarke_status clarke_walk_order(clarke_walk *w, clarke_walk_state *state, size_t at,
                                clarke_error *err);
/* The first time it chooses the arm, the second time it is what its arm is. */
clarke_status clarke_walk_branch(clarke_walk *w, clarke_walk_state *state, size_t at,
                                 clarke_error *err);

#endif
