/* The question that everything in this room answers parts of: a graph with its parameters, a
 * replayed minibatch, a loss, a profile. F(w) is the loss as a function of the wrt parameters. */
#ifndef CLARKE_AUDIT_QUESTION_H
#define CLARKE_AUDIT_QUESTION_H

#include "network/derivative.h"
#include "network/loss.h"

typedef struct {
  const clarke_graph *g;
  clarke_replay *replay; /* makes its constants when first asked for an exact pass */
  const clarke_profile *profile;
  clarke_loss loss;
  /* What AD does at each touch: the side whose slope the proxy is (CLARKE_LEFT, CLARKE_RIGHT), or
   * CLARKE_PROXY when it is neither; then lambda is the weight of the left slope in it. At a
   * window: the option, or CLARKE_PROXY for a mean. */
  int8_t *ad_side;
  mpq_t *lambda;
} clarke_question;

clarke_status clarke_question_init(clarke_question *q, clarke_replay *replay,
                                   const clarke_profile *profile, const clarke_loss *loss,
                                   clarke_error *err);
void clarke_question_clear(clarke_question *q);
/* Sides that the touches have. */
bool clarke_question_is_valid(const clarke_question *q);

#endif
