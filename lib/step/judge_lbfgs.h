/* Does a recorded step of torch.optim.LBFGS follow its rule? It is asked iteration by iteration, each from the numbers that the one before has left. */
#ifndef CLARKE_STEP_JUDGE_LBFGS_H
#define CLARKE_STEP_JUDGE_LBFGS_H

#include "exact/tensor.h"
#include "step/rule.h"

/* Before the step, and after it. */
typedef struct {
  size_t iterations, evaluations, n_pairs; /* of all steps; pairs that are kept */
  const double *theta, *d, *previous, *y, *s, *ro; /* n each, or n for each pair; without iterations theta alone */
  double t, scale;
  const double *al, *be; /* shares of the pairs in d, computed again; NULL: there are none */
} clarke_lbfgs_recorded;

/* An evaluation: the gradient and the loss, and where; and what the iteration before it has left, which the first has none of. */
typedef struct {
  const double *theta, *gradient, *d;
  double loss, t, scale, ro; /* ro: of the last pair */
  size_t n_pairs;
  const double *al, *be; /* as above */
} clarke_lbfgs_evaluated;

typedef struct {
  size_t n, n_evaluations;
  clarke_lbfgs_recorded at[2];
  const clarke_lbfgs_evaluated *evaluation;
  clarke_dtype dtype; /* float32 or float64 */
  const clarke_hypers *hypers; /* with its rounding */
} clarke_lbfgs_question;

/* A part of what an iteration leaves. */
typedef enum {
  CLARKE_LBFGS_THETA, CLARKE_LBFGS_D, CLARKE_LBFGS_T, CLARKE_LBFGS_SCALE, CLARKE_LBFGS_RO, CLARKE_LBFGS_Y, CLARKE_LBFGS_S, CLARKE_LBFGS_PREVIOUS,
} clarke_lbfgs_part;
const char *clarke_lbfgs_part_name(clarke_lbfgs_part part); /* "H_diag" */

typedef struct {
  enum { CLARKE_LBFGS_GOOD, CLARKE_LBFGS_BAD, CLARKE_LBFGS_VAGUE } is;
  size_t bits, within; /* entries of theta and d that are the very floats; that are within the bound */
  double bound, largest; /* of d */
  char why[256];       /* of a bad step, and of a vague one */
  /* Where it is an entry that is another: */
  bool located;
  clarke_lbfgs_part part;
  size_t entry, iteration; /* from 1 on */
  double recorded;
  char *by_rule;
} clarke_lbfgs_finding;

void clarke_lbfgs_finding_clear(clarke_lbfgs_finding *f);
/* Up to the first iteration that is not the rule's, or of which that is not known. f is cleared in any case. */
clarke_status clarke_lbfgs_judge(clarke_lbfgs_finding *f, const clarke_lbfgs_question *q, clarke_error *err);

#endif
