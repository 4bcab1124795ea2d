/* A program that is followed by choices. */
#ifndef CLARKE_PROGRAM_CHOICES_H
#define CLARKE_PROGRAM_CHOICES_H

#include "check/program/program_walk.h"

/* Follows it by the choice at each fork, and among how many, 1 where all is left open; dead: beyond them nothing is followed. */
void follow_choices(walk *w, const size_t *choices, const size_t *among, size_t n, bool dead);

#endif
