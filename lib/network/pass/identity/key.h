/* What the files of identities share: what is known of a pass, and the keys by which identities are told apart. */
#ifndef CLARKE_NETWORK_PASS_IDENTITY_KEY_H
#define CLARKE_NETWORK_PASS_IDENTITY_KEY_H

#include "network/pass/identity.h"

struct clarke_identities {
  const clarke_graph *g;
  size_t n;
  clarke_branch *const *piece;
  const clarke_matrix *value;
  const clarke_tensor *x;
  clarke_identity **known;     /* by value, features x columns: 0 where it is not known yet */
  clarke_identity **patch;     /* by step: of a product's columns, a NORMALIZE's groups, a SOFTMAX's lines */
  uint64_t **weights;          /* by step: of a product, place by place, what stands there in each row: NULL until it is asked */
  /* Every identity has a key, what it depends on; they are kept one after another. */
  size_t n_keys, key_capacity; /* key k is words[start[k]] .. words[start[k + 1]] */
  size_t *start;
  size_t word_capacity;
  uint32_t *words;
  size_t n_slots;              /* a power of two */
  uint32_t *slot;              /* key + 1 */
  size_t depth;
  bool failed;
};

/* A key under way: words that are not in the store yet. It is freed where it is interned. */
typedef struct {
  clarke_identities *ids;
  uint32_t *word;
  size_t n, capacity;
} clarke_key;

/* Kinds of keys; a key begins with its kind and the value it is of (of minus an identity, none). */
enum { BY_NUMBER, BY_STRUCTURE, BY_PLACE, TURNED };

/* The step that makes a value, NULL for the input and constants. */
static inline const clarke_step *
clarke_identities_producer(const clarke_identities *ids, size_t value)
{
  size_t step = ids->g->values[value].producer;

  return step != CLARKE_NONE ? &ids->g->steps[step] : NULL;
}

/* A key of a kind (above), of a value. */
clarke_key clarke_key_begin(clarke_identities *ids, unsigned kind, size_t value);
/* One word more. Without memory ids->failed is set, and stays. */
void clarke_key_put(clarke_key *k, uint64_t word);
/* The number of the key, a new one if it is new: keys are compared whole, the hash only says where to
 * look. Numbers begin behind that of zero. The key is freed. */
clarke_identity clarke_key_intern(clarke_key *k, bool constant);
/* A constant by its number if that is known; else by the structure that the key holds, which is freed. */
clarke_identity clarke_key_settle(clarke_key *k, bool constant, size_t value, size_t entry);

/* An entry that is identical to itself only. */
clarke_identity clarke_identity_alone(clarke_identities *ids, size_t value, size_t entry);
/* By its number, which is known and rational. The same for entries of all values: a copy is known by what it copies. */
clarke_identity clarke_identity_by_number(clarke_identities *ids, size_t value, size_t entry);
/* Which entry of its parameter (in wrt or not) a constant's entry is, or its number. */
uint64_t clarke_coefficient(const clarke_graph *g, size_t value, size_t entry);

#endif
