/* The keys of facts, and what is found for each. */
#ifndef CLARKE_TOOLS_REPRODUCE_KEYS_H
#define CLARKE_TOOLS_REPRODUCE_KEYS_H

#include "reproduce_result.h"
#include "reproduce_run.h"

/* Is it a key that results are found for, in checks of that kind? */
bool clarke_fact_key_known(const char *key, clarke_check_kind kind);
/* Does it take more than an execution and AD? */
bool clarke_fact_derived(const char *key);

/* Text "unknown" where it is not known. */
clarke_status clarke_result_find(clarke_result *result, const clarke_run *r, const char *key,
                                 clarke_error *err);

#endif
