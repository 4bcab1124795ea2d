/* Writing proofs about recorded training steps (docs/proof-format.md, "Recorded steps"): which tensors are bit-exact,
 * and which within their bounds; which branches the record took. */
#ifndef CLARKE_PROOF_WRITE_RECORD_H
#define CLARKE_PROOF_WRITE_RECORD_H

#include "proof/write.h"
#include "trace/certify/branches.h"

typedef struct {
  clarke_proof_input model, params, batch, trace, gradients;
  clarke_proof_input run;         /* which says that factors were narrow, where they were in `certify` */
  const clarke_model *nodes;      /* the model as its file states it, with the loss's nodes */
  const clarke_certify *certify;  /* which was run */
  const clarke_branches *pattern; /* NULL: it was not compared */
} clarke_proof_record;

/* Writes the proof as clarke_proof_write does. What the format has no rule for, or is near its bound, is said to be not
 * covered. */
clarke_status clarke_proof_write_record(const char *path, const clarke_proof_record *r, clarke_error *err);

#endif
