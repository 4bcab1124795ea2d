/* Steps of convolutional networks: the windows of MaxPool, their values and ties, which entries are the
 * same function of the parameters, and what a proof says of them; division by roots. */
#ifndef CLARKE_KERNEL_WINDOW_H
#define CLARKE_KERNEL_WINDOW_H

#include "kernel.h"

/* ---- evaluate.c */

size_t entries(const point *p, size_t s);                       /* of step s */
size_t entry_of(const point *p, const term *t, size_t e);       /* of t's x, for entry e of its step */
const term *terms_at(const point *p, const step *st, size_t e); /* the first of entry e */
interval *argument(const point *p, interval **x, const step *st, size_t e); /* of its first term */
void touch_add(point *p, touch t);
void cell_settle_step(cell *c, const point *p, size_t s, bool tree); /* side NULL: none is given */
void must_be_rational(bool rational_so_far); /* a gradient */
void multiply_add(interval *y, const interval *a, const interval *b); /* y += a b */

/* ---- window.c */

void window_begin(point *p); /* before its steps are evaluated */

/* What OVER_ROOT and WINDOW steps do in evaluate.c; nothing for others. Of a WINDOW's argument, same must be
 * known; its touched windows are noted. */
void other_evaluate(point *p, size_t s, interval *y);
void other_tangents(const point *p, size_t s, const rational *slope, interval **d);
bool other_pull(const point *p, size_t s, size_t e, const rational *slope, interval **adjoint);
/* The degree of an entry of a WINDOW step; settles its touched window. */
uint8_t window_degree(cell *c, const point *p, size_t s, size_t e, bool tree);
/* Fills same for a step, from its degrees with no sides given. */
void window_identify(point *p, size_t s);

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
void note_moves(const point *p, const cell *c, interval **d, bool *moved);
/* Under moves with tangents d, what has no side and is not flat must not move: its side does not matter. */
void must_be_still(const point *p, const cell *c, interval **d);

/* ---- convolution.c: roots */

void root_prepare(step *st);                                          /* fills its root */
void root_multiply(const point *p, size_t s, interval *y, interval **x); /* y = x / root */
void root_pull(const point *p, size_t s, size_t e, interval **adjoint);

#endif
