/* A check by a sweep: what `clarke sweep` says of a model with drawn weights and a minibatch, under the check's two profiles. */
#ifndef CLARKE_TOOLS_REPRODUCE_SWEEP_H
#define CLARKE_TOOLS_REPRODUCE_SWEEP_H

#include "reproduce_result.h"
#include "reproduce_run.h"

/* Is it a key of such checks? */
bool clarke_sweep_key_known(const char *key);
/* Asks about each of the seeds, MODEL BATCH SEED COUNT [LOSS]: from SEED on. */
clarke_status clarke_run_sweep_ask(clarke_run *r, clarke_error *err);
clarke_status clarke_sweep_result(clarke_result *result, const clarke_run *r, const char *key, clarke_error *err);

/* What sweeps and trainings share. The check's profile, and the other one where it has one: *n of them. */
clarke_status clarke_run_profiles(clarke_profile profile[2], size_t *n, const clarke_run *r, clarke_error *err);
void clarke_run_profiles_clear(clarke_profile profile[2]);
/* A seed, or a count from 1 on; an error names what was expected. */
clarke_status clarke_run_number(size_t *n, const char *word, const char *expected, clarke_error *err);

#endif
