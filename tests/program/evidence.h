/* A derivation checked against itself: the tree's form, and the evidence that its verdict names. */
#ifndef CLARKE_TESTS_PROGRAM_EVIDENCE_H
#define CLARKE_TESTS_PROGRAM_EVIDENCE_H

#include "program/derive.h"

/* NULL when all is in order, else what is not. Everything must be decided: for programs whose
 * derivatives are rational and whose patterns are all known. */
const char *evidence_fault(const clarke_derivation *d);
/* The same of what the verdict names alone (it is not undecided, AD's output is rational). */
const char *verdict_fault(const clarke_derivation *d);
/* The same of the tree alone. */
const char *tree_fault(const clarke_patterns *t);

#endif
