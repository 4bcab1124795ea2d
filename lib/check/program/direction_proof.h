/* Proofs about derivatives of programs along directions. */
#ifndef CLARKE_KERNEL_DIRECTION_PROOF_H
#define CLARKE_KERNEL_DIRECTION_PROOF_H

#include "check/program/program.h"

/* Checks the statement about directions of a program that was read (as of check_program): the lines behind its file, and
 * what they claim. What does not hold is a failure. */
void check_direction(const program *of, bool parameters);

#endif
