/* The identity of what a step makes. */
#ifndef CLARKE_NETWORK_PASS_IDENTITY_STEPS_H
#define CLARKE_NETWORK_PASS_IDENTITY_STEPS_H

#include "network/pass/identity/key.h"

/* The identity of entry (f, j) of the value that a step makes; the entry is no mere copy. */
clarke_identity clarke_identity_of_step(clarke_identities *ids, const clarke_step *s, size_t value, size_t f, size_t j);

#endif
