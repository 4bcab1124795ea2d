/* What varies and what is held, in proofs about a program of which some inputs vary (docs/proof-format.md, "Regions"). */
#ifndef CLARKE_PROOF_WRITE_HELD_H
#define CLARKE_PROOF_WRITE_HELD_H

#include "program/code.h"

#include <stdio.h>

/* p: the program, whose inputs in wrt vary and whose others are held; NULL: all vary. */
bool clarke_proof_varies(const clarke_code *p, size_t entry);

/* `WORD V ...`, of the n entries of all inputs those that vary, or the others. */
void clarke_proof_put_entries(FILE *out, const char *word, const clarke_code *p, mpq_t *const value, size_t n, bool vary);
/* `constants NAME ...`: of an unrolled network, the Constant nodes that are parameters; nothing if there are none. */
void clarke_proof_put_constants(FILE *out, const clarke_code *p);
/* The same, `wrt NAME ...` and `held V ...` */
void clarke_proof_put_held(FILE *out, const clarke_code *p, mpq_t *const value, size_t n);

#endif
