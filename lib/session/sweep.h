/* One job of a sweep: what AD computes of a minibatch's loss under several profiles, and how far apart these gradients are, exactly
 * and in floats (docs/sweep.md). */
#ifndef CLARKE_SESSION_SWEEP_H
#define CLARKE_SESSION_SWEEP_H

#include "program/unroll/floats.h"
#include "session/audit.h"

typedef struct {
  clarke_audit_request ask; /* its profile is the first */
  size_t n_profiles;
  const clarke_profile *profile;
  char *const *profile_name;
  size_t n_formats;
  const clarke_ieee *format;
  bool sum;                 /* the loss is the sum over the minibatch, where it would be the mean */
  const uint32_t *seed;     /* the weights are drawn by it; NULL: they are the model's, or a checkpoint's */
} clarke_sweep_question;

/* *answer: an object with the zone, the verdict under the first profile, and by pair of profiles what their difference is. */
clarke_status clarke_sweep_answer(json_t **answer, const clarke_sweep_question *q, clarke_error *err);

#endif
