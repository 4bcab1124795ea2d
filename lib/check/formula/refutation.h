/* Refutations: clauses learned one after another, with hints (docs/proof-format.md, "Networks of formulas"). */
#ifndef CLARKE_KERNEL_REFUTATION_H
#define CLARKE_KERNEL_REFUTATION_H

#include "check/formula/construction.h"

/* Checks the lines `learn` and `delete` that follow, up to the empty clause. Returns how many were learned. */
size_t check_refutation(const three *t);

#endif
