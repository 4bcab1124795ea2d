/* Proofs that a program's outputs are 0 for all inputs (docs/proof-format.md, "Identities"). */
#ifndef CLARKE_KERNEL_VANISH_PROOF_H
#define CLARKE_KERNEL_VANISH_PROOF_H

#include "check/program/program.h"

/* Checks that the program's outputs are 0 for all inputs, and writes the statement. */
void check_vanishing(program *of);

#endif
