/* Formulas in conjunctive normal form, from DIMACS files (docs/formats.md). */
#ifndef CLARKE_KERNEL_CNF_H
#define CLARKE_KERNEL_CNF_H

#include "check/base/bytes.h"

typedef struct {
  size_t n_variables, n, *first; /* clause c is literal[first[c]] .. literal[first[c + 1] - 1] */
  int *literal;                  /* v or -v, v from 1 */
} cnf;

void cnf_read(cnf *f, bytes file); /* a DIMACS file; what is wrong with it is refused */

#endif
