/* What the evidence claims of a program, whose statement has been read. */
#ifndef CLARKE_KERNEL_PROGRAM_EVIDENCE_H
#define CLARKE_KERNEL_PROGRAM_EVIDENCE_H

#include "check/program/program_walk.h"

/* The lines behind `cones`: those around the point of a program that is piecewise linear in the n inputs that vary. each: called for
 * every one, with its gradient, row by row. How many these are. Handed down, for most evidence has none: check_cones. */
typedef size_t cones(program *p, size_t n, void (*each)(void *of, const rational *gradient), void *of);

/* The lines of the evidence, to the last, of what is Lipschitz near the point. verdict is a word of the three; output: AD's, row by
 * row. */
void check_program_evidence(walk *w, const char *verdict, const interval *output, cones *of_cones);

/* The gradient of the output that entry k of AD's output is of: its entry. In the pattern followed last. */
const interval *output_gradient(const walk *w, size_t k);

void put_number(const interval *x); /* on the account, or what it is about */

/* On the account, AD's output or a vector of its size: (a, b), or for several outputs ((a, b), (c, d)). */
void put_rows(const walk *w, const interval *x);

#endif
