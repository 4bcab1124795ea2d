/* Proofs about programs. */
#ifndef CLARKE_KERNEL_PROGRAM_PROOF_H
#define CLARKE_KERNEL_PROGRAM_PROOF_H

#include "check/program/program_evidence.h"

/* Checks a verdict about a program that was read, whose inputs but the first are parameters that vary, or are not: reads
 * the lines of the statement behind its file and the evidence (verdict is a word of the three), and writes the
 * statement. */
void check_program(const program *of, bool parameters, const char *verdict, const evidence_rules *rules);

/* What statements about a point share: of a program as above the lines up to the ties; that it is Lipschitz near the point; AD's
 * output, which it was followed for, row by row. */
void read_question(walk *w, const program *of, bool parameters);
void check_neighbourhood(walk *w);
interval *keep_output(const walk *w);

void state_program(bytes text); /* on the account, without lines that are comments */

#endif
