/* Proofs about programs. */
#ifndef CLARKE_KERNEL_PROGRAM_PROOF_H
#define CLARKE_KERNEL_PROGRAM_PROOF_H

#include "check/program/program.h"

/* Of a program that was read, whose inputs but the first are parameters that vary, or are not: the lines of the statement behind its
 * file; the evidence (verdict is a word of the three), and the statement written. */
void check_program(const program *of, bool parameters, const char *verdict);

void state_program(bytes text); /* on the account, without lines that are comments */

#endif
