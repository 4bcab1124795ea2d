/* The question that everything in this room answers parts of: a graph with its parameters, a
 * replayed minibatch, a loss, a profile. F(w) is the loss as a function of the wrt parameters. */
#ifndef CLARKE_AUDIT_QUESTION_H
#define CLARKE_AUDIT_QUESTION_H

#include "exact/ball.h"
#include "network/derive/loss.h"
#include "network/derive/slopes.h"

/* A touch as AD and the loss have it; goes with replay->touch[k]. */
typedef struct {
  clarke_branch ad_side; /* the side whose slope the proxy is (CLARKE_LEFT, CLARKE_RIGHT), or CLARKE_PROXY when it is neither; at a
                   * window the option, or CLARKE_PROXY for a mean */
  mpq_t lambda;   /* of a kink: the weight of the left slope in the proxy */
  /* Enclosed for separations (separation.h): the loss's derivative by the touch's output, whatever the sides. Zero before
   * it is asked for. */
  arb_t adjoint;
  size_t first_gain; /* gains are numbered through all touches, one a side */
} clarke_asked;

typedef struct {
  const clarke_graph *g;
  clarke_replay *replay; /* makes its constants when first asked for an exact pass */
  const clarke_profile *profile;
  clarke_loss loss;
  clarke_asked *touch; /* by touch */
  size_t n_gains;
} clarke_question;

clarke_status clarke_question_init(clarke_question *q, clarke_replay *replay,
                                   const clarke_profile *profile, const clarke_loss *loss,
                                   clarke_error *err);
void clarke_question_clear(clarke_question *q);
/* Sides that the touches have, gains numbered through. */
bool clarke_question_is_valid(const clarke_question *q);

/* Slopes by the sides, by touch; NULL: AD's. */
clarke_status clarke_question_slopes(clarke_slopes *s, const clarke_question *q, const clarke_branch *side, clarke_error *err);

#endif
