/* A check of many instances: NAME COUNT SEED. */
#ifndef CLARKE_TOOLS_REPRODUCE_SUITE_H
#define CLARKE_TOOLS_REPRODUCE_SUITE_H

#include "reproduce_result.h"
#include "reproduce_run.h"
#include "suite.h"

/* Is it a key of such checks? */
bool clarke_suite_key_known(const char *key);
/* Asks all instances. */
clarke_status clarke_run_suite(clarke_run *r, clarke_error *err);
clarke_status clarke_suite_result(clarke_result *result, const clarke_run *r, const char *key, clarke_error *err);

#endif
