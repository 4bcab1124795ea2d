/* A program that is followed along lines. */
#ifndef CLARKE_PROGRAM_LINES_H
#define CLARKE_PROGRAM_LINES_H

#include "check/program/program_walk.h"

void follow_lines(walk *w); /* along w->lines */

#endif
