/* Touched kinks; the windows of maxima, their values and ties; what a proof says of both. */
#ifndef CLARKE_KERNEL_WINDOW_H
#define CLARKE_KERNEL_WINDOW_H

#include "check/kernel/evaluate.h"

#define LETTERS 26 /* options of a window that are letters */

void window_begin(point *p);       /* before its steps are evaluated */
void touch_add(point *p, touch t); /* from any thread */
void touches_number(point *p);     /* when all are added */

/* The place of the first tied entry of a window, the largest being among those marked; + TOUCHED when the
 * window is touched, which is then noted. */
size_t window_place(point *p, size_t s, size_t e, const bool *among);
/* Reads the tie rules of the operators with windows: what they give the touched windows, among AD's slopes;
 * how many these are. */
size_t read_ties(point *p, rational *ad);
int own_side(const point *p, const rational *ad, size_t k); /* that touched kink k has by AD's slopes; 0: none */
/* A sign, or a window's letter or number, at the text's beginning, which goes on behind it. */
int side_named(const point *p, size_t k, const char **text);
/* Under a direction with tangents d, touched kinks that are not flat and have a side must move to it, the
 * side's option above each other, or not at all; notes in moved, an array like slopes, which have. */
void note_moves(const point *p, const cell *c, const motion *d, bool *moved);
/* All that are not flat must have; or, where they may rest, have a gradient zero under the cell. */
void must_move(const point *p, const cell *c, const bool *moved, bool may_rest);
/* Adds `by` times the derivative of the loss along the network's move, under the slopes. still: a cell, or NULL; what has no side in
 * it, and is not flat, must not move: its side does not matter. */
void add_loss_tangent(interval *to, const point *p, const rational *slope, const rational *by, const cell *still);

#endif
