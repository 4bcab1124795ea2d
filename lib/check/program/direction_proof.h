/* Proofs about derivatives of programs along directions. */
#ifndef CLARKE_KERNEL_DIRECTION_PROOF_H
#define CLARKE_KERNEL_DIRECTION_PROOF_H

#include "check/program/program.h"

/* Of a program that was read (as of check_program): the lines of the statement behind its file, and what they claim. */
void check_direction(const program *of, bool parameters);

#endif
