/* clarke step torch-lbfgs: steps that evaluate where they go, each file of a gradient being one evaluation. */
#ifndef CLARKE_TOOLS_STEP_LBFGS_H
#define CLARKE_TOOLS_STEP_LBFGS_H

#include "step/lbfgs.h"

typedef struct {
  const clarke_hypers *hypers;
  const char *state, *against, *within, *proof; /* files, but for within; all but the first may be NULL */
  mpq_srcptr bound;                             /* of within */
  size_t n_gradients;
  const char *const *gradient;
  bool json;
} clarke_lbfgs_request;

/* Prints it. answer: an exit status. */
clarke_status clarke_step_lbfgs(int *answer, const clarke_lbfgs_request *q, clarke_error *err);

#endif
