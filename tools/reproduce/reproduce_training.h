/* A check of a training in small: gradient descent in floats, each step of which is asked about exactly, as by `clarke audit`. */
#ifndef CLARKE_TOOLS_REPRODUCE_TRAINING_H
#define CLARKE_TOOLS_REPRODUCE_TRAINING_H

#include "reproduce_result.h"
#include "reproduce_run.h"

/* Is it a key of such checks? */
bool clarke_training_key_known(const char *key);
/* Trains as the check says, MODEL BATCH FORMAT SEED STEPS RATE [LOSS]; and under the other profile, where there is one. */
clarke_status clarke_run_training_ask(clarke_run *r, clarke_error *err);
clarke_status clarke_training_result(clarke_result *result, const clarke_run *r, const char *key, clarke_error *err);

#endif
