/* Proofs of steps (docs/proof-format.md, "Steps of optimizers"). */
#ifndef CLARKE_TOOLS_STEP_PROOF_H
#define CLARKE_TOOLS_STEP_PROOF_H

#include "proof/text.h"
#include "step/whole.h"

/* What is stepped. */
typedef struct {
  const clarke_rule *rule;
  const clarke_hypers *hypers;
  const clarke_step_shape *shape;
  size_t n, k;                /* entries; steps that were made */
  const clarke_step_entry *entry;
} clarke_step_state;

/* An error where a tensor of that shape is more work than clarke-check does. */
clarke_status clarke_step_proof_check(const clarke_step_shape *s, const clarke_rule *rule, const clarke_hypers *h, clarke_error *err);
/* An error where so many entries, or steps, are more than it takes. */
clarke_status clarke_step_proof_length(size_t n, size_t k, size_t n_gradients, clarke_error *err);
/* Two ends that hold the number; the number twice where it is a rational. */
void clarke_step_proof_bounds(FILE *out, const clarke_number *x);
/* The lines of the rule's numbers, and of what may be chosen. */
void clarke_step_proof_settings(FILE *out, const clarke_rule *rule, const clarke_hypers *h);
/* The statement, with the state before all steps; an error where it is larger than clarke-check takes. */
clarke_status clarke_step_proof_begin(clarke_text *t, const clarke_step_state *s, size_t n_gradients, clarke_error *err);
void clarke_step_proof_gradient(clarke_text *t, const clarke_number *g, size_t n);
/* Where the state is then; writes all to path. Clears the text, also where status is an error. */
clarke_status clarke_step_proof_save(clarke_text *t, const clarke_step_state *s, clarke_status status, const char *path, clarke_error *err);

#endif
