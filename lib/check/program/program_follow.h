/* A program followed near the point in demand order, from the beginning. */
#ifndef CLARKE_KERNEL_PROGRAM_FOLLOW_H
#define CLARKE_KERNEL_PROGRAM_FOLLOW_H

#include "check/program/program_walk.h"

/* The proxy of a touched instruction at its kink k. */
const proxy *proxy_of(const walk *w, const instruction *i, size_t k);
void slope_on(rational *slope, const pieces *p, size_t k, const rational *x); /* c1 + 2 c2 x on piece k */
/* The entries equal to the value of an ORDER into tied, in the order of the arguments; *rank of them is its own. */
size_t find_tied(walk *w, size_t at, size_t *tied, size_t *rank);
/* AD's share of the k-th of n tied entries. */
void tied_share(rational *c, const walk *w, const instruction *i, size_t n, size_t rank, size_t k);

/* At the point; all: with both arms of branches whose comparands are equal. */
void follow_point(walk *w, bool all);
/* Along the arc of n steps, with series of that many terms. */
void follow_arc(walk *w, const rational *steps, size_t n, size_t terms);
void follow_other(walk *w, way how); /* another way, of which w->fork has the rules */
size_t follow_touched(walk *w);      /* touched instructions */
bool follow_open(walk *w);           /* is something left open, so that gradients enclose what occurs? */
bool follow_moved(walk *w);          /* does a branch take not the arm that it takes at the point? */

#endif
