/* A program's instructions as rational functions of all its inputs: an identity that holds for all of them is decided, not tried at points. */
#ifndef CLARKE_PROGRAM_RATIONAL_H
#define CLARKE_PROGRAM_RATIONAL_H

#include "base/verdict.h"
#include "program/code.h"

/* Quotients of polynomials with more terms than this are not followed. */
#define CLARKE_RATIONAL_TERMS 20000

/* Is each output 0 for all inputs for which no divisor is 0? Yes and no are decided by expanding: the outputs are rational functions of the
 * inputs. Unknown: an output needs something else (a root, a kink, a branch), divides by what is 0 for all inputs, or is too long. */
clarke_status clarke_code_vanishes(clarke_truth *answer, const clarke_code *p, clarke_error *err);
/* Are two instructions one polynomial of the inputs? Unknown: one of them is none, or too long, or the program
 * divides by what is no number. */
clarke_status clarke_code_agrees(clarke_truth *answer, const clarke_code *p, size_t a, size_t b, clarke_error *err);

#endif
