/* What the evidence claims of a program, whose statement has been read. */
#ifndef CLARKE_KERNEL_PROGRAM_EVIDENCE_H
#define CLARKE_KERNEL_PROGRAM_EVIDENCE_H

#include "check/program/program_walk.h"

/* The lines of the evidence, to the last, of what is Lipschitz near the point. verdict is a word of the three; output: AD's, row by
 * row. */
void check_program_evidence(walk *w, const char *verdict, const interval *output);

/* The gradient of the output that entry k of AD's output is of: its entry. In the pattern followed last. */
const interval *output_gradient(const walk *w, size_t k);

void put_number(const interval *x); /* on the account, or what it is about */

/* On the account, AD's output or a vector of its size: (a, b), or for several outputs ((a, b), (c, d)). */
void put_rows(const walk *w, const interval *x);

#endif
