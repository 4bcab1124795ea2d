/* What judges of entries and of tensors share. */
#ifndef CLARKE_STEP_JUDGE_INSIDE_H
#define CLARKE_STEP_JUDGE_INSIDE_H

#include "step/judge.h"

/* x = d exactly. */
void clarke_judge_set(clarke_number *x, double d);
/* Is that asked about: -1 theta, else a slot that the step left behind? */
bool clarke_judge_is_asked(const clarke_step_question *q, const clarke_step_tensor *t, int slot);
/* 1 inside, 0 outside, -1: the ball is no bound. */
int clarke_judge_is_inside(const clarke_number *x, double d);
/* At least how far the ball reaches from its middle. */
double clarke_judge_radius(const clarke_number *x);
/* Does a number stay as it was, and the rule says so, but for rounding? */
bool clarke_judge_is_at_rest(const clarke_number *x, double before, double after);
/* At most |x - d|. */
double clarke_judge_distance(const clarke_number *x, double d);
/* The first number that is wrong, or, before any is, open. */
clarke_status clarke_judge_note(clarke_step_finding *f, int slot, size_t i, double recorded, const clarke_number *by_rule, clarke_error *err);

/* judge_whole.c: the same of rules of whole tensors. */
clarke_status clarke_judge_whole(clarke_step_finding *f, const clarke_step_question *q, const clarke_step_tensor *t, clarke_error *err);
clarke_status clarke_judge_whole_distances(double far[1 + CLARKE_N_SLOTS], const clarke_step_question *q, const clarke_step_tensor *t,
                                           const clarke_hypers *h, clarke_error *err);

#endif
