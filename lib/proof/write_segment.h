/* Writing proofs about a function along a segment (docs/proof-format.md, "Segments"). */
#ifndef CLARKE_PROOF_WRITE_SEGMENT_H
#define CLARKE_PROOF_WRITE_SEGMENT_H

#include "base/output.h"
#include "proof/write.h"

/* What the statement speaks of. */
typedef struct {
  clarke_proof_input function;
  bool network;
  size_t n, n_outputs, pieces;
  mpq_t *from, *to;  /* the ends, n each: of the entries of all inputs */
  const clarke_code *held; /* inputs outside wrt are held, both ends being one there: the program that says which; or NULL */
  mpq_t *integral;   /* n_outputs: f(to) - f(from) */
} clarke_segment_statement;

/* Opens the text and writes the statement. The pieces follow, in their order: where one ends, of 0 to 1, and its n_outputs
 * derivatives. clarke_proof_save (proof/text.h) ends the proof. */
clarke_status clarke_segment_proof_begin(clarke_text *t, const clarke_segment_statement *s, clarke_error *err);
void clarke_segment_proof_piece(clarke_text *t, mpq_t to, mpq_t *slope, size_t n_outputs);

#endif
