/* How finely each value of a pass in slices is kept: chosen before the pass, from norms (docs/filter.md, "Slices").
 *
 * No bound rests on the choice: a pass that is planned too coarsely leaves places open. */
#ifndef CLARKE_NETWORK_PASS_SLICES_PLAN_H
#define CLARKE_NETWORK_PASS_SLICES_PLAN_H

#include "network/norms/growth.h"

#include <mpfr.h>

typedef struct clarke_slicing clarke_slicing; /* slices.h */

typedef struct {
  const clarke_graph *g;
  long width;             /* bits of a digit */
  bool *needed;           /* n_values */
  long *low;              /* n_values: the lowest place: they differ by multiples of width */
  double *allowed;        /* n_values: what the step that makes it may make an entry off by */
  clarke_scaling *scaling;    /* n_values: where samples are coupled */
  const clarke_growths *growths; /* of the needed steps; they are the caller's, and outlive the plan */
  void (*seen)(void *context, const clarke_slicing *pass, size_t value); /* NULL, or told each value when it is made, and not lost */
  void *context;
} clarke_slice_plan;

/* Does the pass follow all steps whose outputs are needed? */
bool clarke_slices_follow(const clarke_graph *g, const bool *needed);
/* Does it follow all that kinks need? */
bool clarke_slices_serve(const clarke_graph *g, clarke_branch *const *piece, size_t n);

/* For samples whose values' sizes are like those of the first of x; piece: the places, n columns of them; what no open
 * one depends on is not needed. growths: of what is needed they are made known. */
clarke_status clarke_slice_plan_make(clarke_slice_plan *p, clarke_growths *growths, const clarke_graph *g,
                                     const clarke_tensor *x, clarke_branch *const *piece, size_t n, clarke_error *err);
/* A plan without scalings, for values of steps that the pass follows, whose errors are to have norms, by sample or of all where
 * they are coupled, of at most those borne. growths are known of what is needed, and of no scaling. */
clarke_status clarke_slice_plan_for(clarke_slice_plan *p, const clarke_growths *growths, const clarke_graph *g,
                                    const clarke_tensor *x, const bool *needed, const double *borne, clarke_error *err);
void clarke_slice_plan_clear(clarke_slice_plan *p);

#endif
