/* Forks: where touched instructions part the ways of the program near the point. */
#ifndef CLARKE_KERNEL_PROGRAM_FORK_H
#define CLARKE_KERNEL_PROGRAM_FORK_H

#include "check/program/program_walk.h"

/* That a difference of two numbers, zero at the point, is positive near it. */
typedef struct {
  interval *gradient;
  uint8_t degree;
  polynomial q;
} decision;

extern size_t n_used;       /* forks by choices so far, or along an arc */
extern size_t *arc_choices; /* along an arc: the choice at each of them */
extern size_t n_decisions;  /* what the choices so far decided */
extern decision *decisions;
extern bool stopped; /* by choices, in a dead branch: at its end */

void forks_clear(void); /* before the program is followed */
/* The choice at each fork, and among how many, 1 where all is left open; dead: beyond them nothing is followed. */
void forks_choose(const size_t *choices, const size_t *among, size_t n, bool dead);
/* Is a less b (b == NONE: less a kink), zero at the point, identically zero near it? */
bool identical(size_t a, size_t b);
/* The sign of the first nonzero coefficient of a less b along the arc; 0 when none is found. */
int leading(size_t a, size_t b);
/* A fork at an instruction: which of n numbers is the largest near the point (up: the least)? NONE: it is left open. */
size_t fork_at(size_t at, size_t n, const size_t *y, bool up);
#define ANY_SIDE 2
int sign_near(size_t at, size_t a, size_t b); /* the sign near the point of a less b, zero there; or ANY_SIDE */
bool is_not_zero(const decision *d);          /* is it known not to be identically zero? */

#endif
