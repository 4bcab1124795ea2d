/* What a plan is made from: what tensors bear, and how errors become theirs. No bound rests on any of it. */
#ifndef CLARKE_NETWORK_DERIVE_GRADIENT_PLANNING_H
#define CLARKE_NETWORK_DERIVE_GRADIENT_PLANNING_H

#include "network/derive/gradient/plan.h"

/* A share in a parameter's gradient, made of a step's output's gradient and, but for sums, of the value x: by_grad and by_value times
 * their errors is how far an entry is off. */
typedef struct {
  size_t step, parameter, x; /* x: CLARKE_NONE: none */
  double by_grad, by_value;
  double length; /* of the sums that make an entry */
} clarke_share;

/* A plan that is being made. */
typedef struct {
  clarke_gradient_plan *plan;
  const clarke_gradient_pass *few;
  const clarke_gradient_sizes *seen;
  double more;   /* samples there are for each that was seen */
  double turn;   /* by how much errors of the outputs turn the loss's gradient, at most, as far as was seen */
  double *value; /* n_values: the norms of errors that these bear, by lane */
  double *grad;
  double *borne; /* n_parameters: what an entry may be off by, before it is divided by 2^bits; 0: it is not asked for */
  double *off;   /* n_parameters: what it is foretold to be off by */
  clarke_share *share;
  size_t n_shares;
} clarke_planning;

/* few: a pass over some samples that has seen them, and its gradient; both outlive the planning. What there is is cleared, also
 * when it failed. */
clarke_status clarke_planning_init(clarke_planning *q, clarke_gradient_plan *plan, const clarke_gradient_pass *few);
void clarke_planning_clear(clarke_planning *q);

/* By how much errors of operand k of step i grow. */
double clarke_planning_growth(const clarke_planning *q, size_t i, size_t k);
/* What is multiplied by a weight: the norm of a lane, its largest entry, and the root of how many entries are not 0. */
typedef struct {
  double norm, most, entries;
} clarke_multiplied;

/* A value, of which a GATHER takes entries as often as that root says, and a gradient. */
clarke_multiplied clarke_planning_value(const clarke_planning *q, size_t value, double root);
clarke_multiplied clarke_planning_grad(const clarke_planning *q, size_t value);
/* What a product of step i takes, of `inner` products an entry. */
double clarke_planning_taken(const clarke_planning *q, size_t i, size_t slices, size_t inner, clarke_multiplied of);
/* The source of a DENSE or SCALE step's x, past a GATHER that is left to it, and the root of how often that takes an entry. */
size_t clarke_planning_source(double *root, const clarke_planning *q, size_t i);

#endif
