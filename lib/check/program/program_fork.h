/* Forks: where touched instructions part the ways of the program near the point. */
#ifndef CLARKE_KERNEL_PROGRAM_FORK_H
#define CLARKE_KERNEL_PROGRAM_FORK_H

#include "check/program/program_walk.h"

void forks_clear(walk *w); /* before the program is followed */
/* Is a less b (b == NONE: less a kink), zero at the point, identically zero near it? */
bool identical(walk *w, size_t a, size_t b);
/* The sign of the first nonzero coefficient of a less b along the arc; 0 when none is found. */
int leading(walk *w, size_t a, size_t b);
/* A fork at an instruction: which of n numbers is the largest near the point (up: the least)? NONE: it is left open. */
size_t fork_at(walk *w, size_t at, size_t n, const size_t *y, bool up);
#define ANY_SIDE 2
int sign_near(walk *w, size_t at, size_t a,
              size_t b);                      /* the sign near the point of a less b, zero there; or ANY_SIDE */
bool is_not_zero(walk *w, const decision *d); /* is it known not to be identically zero? */

#endif
