/* AD's own pattern: a pattern whose pieces are those whose derivatives AD took. */
#ifndef CLARKE_PROGRAM_DERIVE_OWN_H
#define CLARKE_PROGRAM_DERIVE_OWN_H

#include "program/derive.h"

/* A realized pattern that AD follows; CLARKE_NONE: none. */
clarke_status clarke_derive_own(size_t *found, const clarke_derivation *d, clarke_error *err);

/* For clarke_patterns_along, the context being the derivation: the choice at a fork that does what AD does there;
 * CLARKE_NONE: none does, or it is not the last entry of an ORDER to be taken. */
clarke_status clarke_derive_choice(size_t *choice, void *context, const clarke_walk *w, clarke_error *err);

#endif
