/* Which entries of a pass are the same function of the wrt parameters near w, as docs/proof-format.md
 * defines identity ("Windows"): the structure shows it, no arithmetic is needed, and ties between
 * identical entries are ties whatever the precision. Identities are found when asked for, each
 * with those it takes, and remembered. */
#ifndef CLARKE_NETWORK_PASS_IDENTITY_H
#define CLARKE_NETWORK_PASS_IDENTITY_H

#include "exact/matrix.h"
#include "network/graph/graph.h"

typedef uint32_t clarke_identity;

#define CLARKE_IDENTITY_ZERO ((clarke_identity)1) /* of the constant 0 */
/* Constants other than 0 have this bit. */
#define CLARKE_IDENTITY_CONSTANT ((clarke_identity)1 << 31)

/* Is it that of a constant, 0 or another? */
static inline bool
clarke_identity_is_constant(clarke_identity id)
{
  return id == CLARKE_IDENTITY_ZERO || (id & CLARKE_IDENTITY_CONSTANT) != 0;
}

typedef struct clarke_identities clarke_identities;

/* Identities of passes over n columns. piece is as in clarke_forward, filled as far as the pass has come. value, when
 * not NULL, are the activations' matrices, in which constants are told by their numbers. Otherwise
 * only zeros and the inputs x are, and some identical entries may get different numbers. All is
 * borrowed. NULL when out of memory. */
clarke_identities *clarke_identities_new(const clarke_graph *g, size_t n, clarke_branch *const *piece,
                                         const clarke_matrix *value, const clarke_tensor *x);
void clarke_identities_free(clarke_identities *ids);

/* The number of (feature, column) of an activation whose steps have been run: entries of one number
 * are identical. When out of memory all get 0, and clarke_identities_failed says so. */
clarke_identity clarke_identity_of(clarke_identities *ids, size_t value, size_t feature,
                                   size_t column);
/* Are features a and b of a value in that column identical, as their numbers tell? Where both are copies of one entry none are made. */
bool clarke_identity_same(clarke_identities *ids, size_t value, size_t a, size_t b, size_t column);
/* The number that entries which are minus those of a number have; of a constant, or without memory, 0. */
clarke_identity clarke_identity_turned(clarke_identities *ids, clarke_identity id);
/* Clears same[j] of every column j in which features a and b of a value may be two functions, a row at a time
 * and without numbers; it looks through one product. input: the values of x, features x columns. What
 * stays is identical; what does not may be. */
void clarke_identity_compare(uint64_t *same, const clarke_identities *ids, const double *input,
                             size_t value, size_t a, size_t b);
bool clarke_identities_failed(const clarke_identities *ids);

/* The array of what is known of a value's entries, made when first needed; its producer's patches with it. NULL, and
 * ids->failed, without memory. */
clarke_identity *clarke_identities_known(clarke_identities *ids, size_t value);

#endif
