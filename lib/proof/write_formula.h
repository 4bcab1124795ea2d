/* Proofs about networks of formulas: docs/proof-format.md, "Networks of formulas". */
#ifndef CLARKE_PROOF_WRITE_FORMULA_H
#define CLARKE_PROOF_WRITE_FORMULA_H

#include "proof/write.h"
#include "sat/solve.h"

/* Writes the proof about a formula, whose clauses t has, and the model of its network: is F differentiable at 0? s must have
 * an answer. The file is written to a temporary one beside path, then renamed. */
clarke_status clarke_proof_write_formula(const char *path, const clarke_proof_input *formula, const clarke_proof_input *model,
                                         const clarke_three *t, const clarke_solution *s, clarke_error *err);

#endif
