/* Writing proofs about arrangements (docs/proof-format.md): the tree as it is walked, then the statement before it. */
#ifndef CLARKE_PROOF_WRITE_ARRANGEMENT_H
#define CLARKE_PROOF_WRITE_ARRANGEMENT_H

#include "base/output.h"
#include "proof/write.h"
#include "region/arrangement.h"

typedef struct {
  const clarke_arrangement *arrangement;
  clarke_text tree;
  fmpz *point;
} clarke_arrangement_proof;

clarke_status clarke_arrangement_proof_init(clarke_arrangement_proof *p, const clarke_arrangement *a, clarke_error *err);
void clarke_arrangement_proof_clear(clarke_arrangement_proof *p); /* of one that is zeroed, too */

/* As clarke_sign_visitor has them, the proof being the context. */
clarke_status clarke_arrangement_proof_circuit(void *proof, const clarke_circuit *c, clarke_error *err);
clarke_status clarke_arrangement_proof_split(void *proof, size_t row, clarke_error *err);
clarke_status clarke_arrangement_proof_forced(void *proof, size_t row, int sign, size_t circuit, clarke_error *err);
void clarke_arrangement_proof_leaf(clarke_arrangement_proof *p, const clarke_witness *w);

/* When the walk was complete, writes the proof, as clarke_proof_write does. offsets: without a name for a central one. */
clarke_status clarke_arrangement_proof_save(clarke_arrangement_proof *p, const char *path, const clarke_proof_input *matrix,
                                            const clarke_proof_input *offsets, size_t regions, clarke_error *err);

#endif
