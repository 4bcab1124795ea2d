/* Proofs about networks of formulas. */
#ifndef CLARKE_KERNEL_FORMULA_PROOF_H
#define CLARKE_KERNEL_FORMULA_PROOF_H

#include "check/base/session.h"

bool formula_verdict_known(const char *verdict); /* is it one about formulas? */
/* The lines of the statement from `formula` on, which has begun; the evidence; and the statement written. */
void check_formula(const char *folder, const char *verdict);

#endif
