/* Steps of convolutional networks: the windows of MaxPool, their values and ties, which entries are the
 * same function of the parameters, and what a proof says of them; division by roots; near values. */
#ifndef CLARKE_KERNEL_WINDOW_H
#define CLARKE_KERNEL_WINDOW_H

#include "kernel.h"

/* ---- evaluate.c */

size_t entries(const point *p, size_t s);                       /* of step s */
size_t entry_of(const point *p, source x, size_t e); /* for entry e of the step that reads x */
term term_at(const point *p, const step *st, size_t e, size_t i);         /* term i of entry e */
const interval *argument(const point *p, const step *st, size_t e);       /* x of its first term */
void weigh(const step *st, const factor *t, bool derivative, rational *q); /* its number; or that's by the weight */
size_t locate(point *p, size_t s, size_t e); /* place of a PIECEWISE entry; a touched kink is noted */
void cell_settle_step(cell *c, const point *p, size_t s, size_t sample, bool tree); /* side NULL: none is given */
const rational *only(const interval *x); /* of a gradient: its number, or a failure */
void multiply_add(interval *y, const interval *a, const interval *b); /* y += a b */

/* ---- window.c */

void window_begin(point *p); /* before its steps are evaluated */
void touch_add(point *p, touch t);
void touches_number(point *p); /* when all are added */

/* The place of the first tied entry of a window, the largest being among those marked; + TOUCHED when the
 * window is touched, which is then noted. */
size_t window_place(point *p, size_t s, size_t e, const bool *among);
void window_tangent(const motion *d, size_t s, size_t e, interval *y); /* y += the tangent of entry e */
/* What pull_back does of OVER_ROOT and WINDOW steps; nothing for others. */
bool other_pull(const point *p, size_t s, size_t e, const rational *slope, rational **adjoint);
/* The degree of an entry of a WINDOW step; settles its touched window. */
uint8_t window_degree(cell *c, const point *p, size_t s, size_t e, bool tree);
/* 0: constant, known by its value; else a number that entries of a sample share only if they are one
 * function, 1 when that is the constant 0. */
size_t same_as(const point *p, size_t s, size_t e);

/* Reads the tie rule, if there is a MaxPool: what it gives the touched windows, among AD's slopes;
 * how many these are. */
size_t read_ties(const point *p, rational *ad);
bool is_window(const touch *t);
int tie_side(const touch *t);                     /* of the option AD takes; 0: it takes several */
bool next_side(const point *p, cell *c, size_t k); /* of a branch on touched kink k: the first, ... or none */
int side_named(const point *p, size_t k, char c); /* a sign, or a window's letter */
/* In a line of `dead`: a letter, of another option than the side of window k; of a kink, nothing. */
size_t next_option(const point *p, const cell *c, size_t k);
/* Under a direction with tangents d, touched kinks that are not flat must move to their sides, the
 * side's option above each other, or not at all; notes in moved, an array like slopes, which have.
 * Without d all must have. */
void note_moves(const point *p, const cell *c, const motion *d, bool *moved);
/* Under moves with tangents d, what has no side and is not flat must not move: its side does not matter. */
void must_be_still(const point *p, const cell *c, const motion *d);

/* ---- convolution.c: near values, roots */

/* What is known to be near a step's values of one sample: the value of feature f is within r units of c[f], a unit
 * being 2^-(session_bits + GUARD). */
typedef struct { integer *c, r; bool known; } near;

void near_prepare(step *st);
/* Fills place and degree for a sample, and returns the near values that decided, where they could. */
near *near_values(point *p, size_t sample);
void near_free(const point *p, near *v);
void root_pull(const point *p, size_t s, size_t e, rational **adjoint);

#endif
