/* The network of a formula (docs/proof-format.md, "Networks of formulas"), rebuilt. */
#ifndef CLARKE_KERNEL_CONSTRUCTION_H
#define CLARKE_KERNEL_CONSTRUCTION_H

#include "check/formula/cnf.h"
#include "check/files/onnx.h"

/* A formula as clauses of three literals: n of them, a power of two. */
typedef struct {
  size_t n_variables, n;
  int (*clause)[3];
} three;

void three_make(three *t, const cnf *f); /* clauses of three literals that say the same */
/* The model, whose initializers are packed, is the network of those clauses, or the process ends. Returns its layers of relu. */
size_t construction_compare(const three *t, const model *m);
/* The network's output at x, an entry for each variable. */
void construction_value(rational *f, const three *t, const rational *x);

#endif
