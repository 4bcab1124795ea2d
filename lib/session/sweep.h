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

/* sweep_train.c: gradient descent in floats of one format, from weights that are drawn. At each step a session is asked about the weights
 * that it has come to, exactly. */
typedef struct {
  clarke_sweep_question q; /* of one profile and a seed */
  clarke_ieee format;
  double rate;             /* of the format */
  clarke_tensors weights;  /* by parameter, once it has begun */
  bool left;               /* some weight came to be infinite, or no number: there is no step from there */
} clarke_sweep_training;

void clarke_sweep_training_clear(clarke_sweep_training *t);
/* Reads and asks, into a session that is initialized, at the weights of now. */
clarke_status clarke_sweep_training_ask(clarke_audit_session *s, clarke_sweep_training *t, clarke_error *err);
/* From the weights that the session was asked about: w - rate g for each entry in wrt, each operation rounded. */
clarke_status clarke_sweep_training_step(clarke_sweep_training *t, const clarke_audit_session *s, clarke_error *err);
/* At how many labels the network's outputs, in floats, are largest, the first of the largest ones being taken. Of a cross entropy. */
clarke_status clarke_sweep_training_right(size_t *right, const clarke_sweep_training *t, const clarke_audit_session *s, clarke_error *err);

#endif
