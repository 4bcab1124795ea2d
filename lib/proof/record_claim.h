/* What a line of a record's proof claims of a tensor (docs/proof-format.md, "Recorded steps"): no more than the
 * checker, whose bounds are its own, can find. */
#ifndef CLARKE_PROOF_RECORD_CLAIM_H
#define CLARKE_PROOF_RECORD_CLAIM_H

#include "trace/certify/certify.h"

/* The checker's bound is its own, and about as large as ours, or larger: what is nearer to ours than this part is not claimed. */
#define CLARKE_PROOF_NEAR 0.8

/* By what rule the checker makes the exact number: none; of numbers that were not recorded, too; in enclosures; as a plain sum. */
typedef enum { CLARKE_NO_RULE, CLARKE_OF_UNRECORDED, CLARKE_OF_ENCLOSED, CLARKE_OF_SUMS } clarke_record_rule;

/* Is the record of types so fine, and of numbers so far from overflow, that the checker has a bound wherever we have one? */
bool clarke_record_is_moderate(const clarke_certify *c);

/* "bit-exact", "within", "where-bounded", "not-shown" or "not-covered". made: NULL where nothing was recorded. */
const char *clarke_record_claim(const clarke_certificate *made, clarke_record_rule by, bool moderate);

#endif
