/* Proofs about programs. */
#ifndef CLARKE_KERNEL_PROGRAM_PROOF_H
#define CLARKE_KERNEL_PROGRAM_PROOF_H

#include "check/base/bytes.h"

/* The lines of the statement from `program` or `network` on; the evidence (verdict is a word of the three), and the statement
 * written. */
void check_program(const char *folder, const char *verdict, bool of_network);

void state_program(bytes text); /* on the account, without lines that are comments */

#endif
