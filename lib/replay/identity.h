/* Which entries of a pass are the same function of the wrt parameters near w, as docs/proof-format.md
 * defines identity ("Windows"): the structure shows it, no arithmetic is needed, and ties between
 * them are ties whatever the precision. */
#ifndef CLARKE_REPLAY_IDENTITY_H
#define CLARKE_REPLAY_IDENTITY_H

#include "replay/forward.h"

typedef uint32_t clarke_identity;

/* Entries of one value with the same number are identical. The constant 0 is number 0. */
#define CLARKE_IDENTITY_ZERO ((clarke_identity)0)
#define CLARKE_IDENTITY_CONSTANT ((clarke_identity)1 << 31) /* constants have this bit (0 but) */

/* The identities of a value's entries (features x columns), made when first asked for together with
 * those it takes. They belong to the pass. Every step before the value must have been run. */
clarke_status clarke_identities(const clarke_identity **identity, clarke_forward *f, size_t value,
                                clarke_error *err);

#endif
