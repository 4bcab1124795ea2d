/* Writing proofs about all patterns around a point, where what varies is multiplied (docs/proof-format.md, "Patterns of products"). */
#ifndef CLARKE_PROOF_WRITE_PATTERNS_H
#define CLARKE_PROOF_WRITE_PATTERNS_H

#include "proof/write.h"

/* What the statement speaks of. */
typedef struct {
  clarke_proof_input function;
  bool network;            /* the parameters that vary are as stored */
  const clarke_code *held; /* inputs outside wrt are held */
  mpq_t *point;            /* the entries of all inputs */
} clarke_patterns_statement;

/* When the tree is complete and every pattern of it is realized, writes the proof, as clarke_proof_write does. */
clarke_status clarke_patterns_prove(const clarke_patterns *t, const clarke_patterns_statement *s, const char *path, clarke_error *err);

#endif
