/* Keys, what identities depend on: kept whole in one store, found by their hashes. */
#include "network/pass/identity/key.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

void
clarke_key_put(clarke_key *k, uint64_t word)
{
  if (!clarke_room(&k->word, &k->capacity, k->n + 2, sizeof *k->word)) {
    k->ids->failed = true;
    return;
  }
  k->word[k->n++] = (uint32_t)word;
  k->word[k->n++] = (uint32_t)(word >> 32);
}

static uint64_t
hash(const uint32_t *word, size_t n)
{
  uint64_t h = 0x9e3779b97f4a7c15 ^ n;

  for (size_t i = 0; i < n; i++) {
    h = (h ^ word[i]) * 0xff51afd7ed558ccd;
    h ^= h >> 32;
  }
  return h;
}

static bool
grow_table(clarke_identities *ids)
{
  size_t n = ids->n_slots != 0 ? 2 * ids->n_slots : 1 << 12;
  uint32_t *slot = calloc(n, sizeof *slot);

  if (slot == NULL)
    return false;
  for (size_t k = 0; k < ids->n_keys; k++) {
    size_t at = hash(ids->words + ids->start[k], ids->start[k + 1] - ids->start[k]) & (n - 1);

    while (slot[at] != 0)
      at = (at + 1) & (n - 1);
    slot[at] = (uint32_t)k + 1;
  }
  free(ids->slot);
  ids->slot = slot;
  ids->n_slots = n;
  return true;
}

static bool
make_room(clarke_identities *ids, size_t n)
{
  size_t used = ids->n_keys > 0 ? ids->start[ids->n_keys] : 0;

  if (!clarke_room(&ids->start, &ids->key_capacity, ids->n_keys + 2, sizeof *ids->start) ||
      !clarke_room(&ids->words, &ids->word_capacity, used + n, sizeof *ids->words))
    return false;
  ids->start[0] = 0;
  return ids->n_keys < CLARKE_IDENTITY_CONSTANT - 4 && (2 * ids->n_keys < ids->n_slots || grow_table(ids));
}

clarke_identity
clarke_key_intern(clarke_key *k, bool constant)
{
  clarke_identities *ids = k->ids;
  clarke_identity id = 0;
  size_t at;

  if (!ids->failed && !make_room(ids, k->n))
    ids->failed = true;
  if (!ids->failed) {
    for (at = hash(k->word, k->n) & (ids->n_slots - 1); ids->slot[at] != 0;
         at = (at + 1) & (ids->n_slots - 1)) {
      size_t other = ids->slot[at] - 1, start = ids->start[other];

      if (ids->start[other + 1] - start == k->n &&
          memcmp(ids->words + start, k->word, k->n * sizeof *k->word) == 0)
        break;
    }
    if (ids->slot[at] == 0) {
      memcpy(ids->words + ids->start[ids->n_keys], k->word, k->n * sizeof *k->word);
      ids->start[ids->n_keys + 1] = ids->start[ids->n_keys] + k->n;
      ids->slot[at] = (uint32_t)++ids->n_keys;
    }
    id = (ids->slot[at] + CLARKE_IDENTITY_ZERO) | (constant ? CLARKE_IDENTITY_CONSTANT : 0);
  }
  free(k->word);
  return id;
}

clarke_key
clarke_key_begin(clarke_identities *ids, unsigned kind, size_t value)
{
  clarke_key k = {.ids = ids};

  clarke_key_put(&k, (uint64_t)value << 2 | kind);
  return k;
}

clarke_identity
clarke_identity_alone(clarke_identities *ids, size_t value, size_t entry)
{
  clarke_key k = clarke_key_begin(ids, BY_PLACE, value);

  clarke_key_put(&k, entry);
  return clarke_key_intern(&k, false);
}

/* By its number, which is known and rational? */
static bool
has_number(const clarke_identities *ids, size_t value, size_t entry)
{
  const clarke_matrix *y = ids->value != NULL ? &ids->value[value] : NULL;

  return y != NULL ? y->radius == NULL || y->radius[entry] == 0 : value == ids->g->input;
}

/* The words of a rational; false when it is 0. */
static bool
put_rational(clarke_key *k, const mpq_t q)
{
  const mpz_srcptr part[2] = {mpq_numref(q), mpq_denref(q)};

  clarke_key_put(k, (uint64_t)mpq_sgn(q) + 1);
  for (size_t i = 0; i < 2; i++) {
    size_t n = mpz_size(part[i]);

    clarke_key_put(k, n);
    for (size_t l = 0; l < n; l++)
      clarke_key_put(k, mpz_getlimbn(part[i], (mp_size_t)l));
  }
  return mpq_sgn(q) != 0;
}

clarke_identity
clarke_identity_by_number(clarke_identities *ids, size_t value, size_t entry)
{
  clarke_key k = clarke_key_begin(ids, BY_NUMBER, 0);
  bool zero;

  if (ids->value == NULL) { /* an input */
    size_t from = entry % ids->n * ids->g->values[value].count + entry / ids->n;
    double number = ids->x->real != NULL ? ids->x->real[from] : (double)ids->x->integer[from];
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    clarke_key_put(&k, bits);
    zero = number == 0;
  } else {
    mpq_t number;

    mpq_init(number);
    clarke_matrix_get(number, &ids->value[value], entry / ids->n, entry % ids->n);
    zero = !put_rational(&k, number);
    mpq_clear(number);
  }
  if (zero) {
    free(k.word);
    return CLARKE_IDENTITY_ZERO;
  }
  return clarke_key_intern(&k, true);
}

uint64_t
clarke_coefficient(const clarke_graph *g, size_t value, size_t entry)
{
  const clarke_value *v = &g->values[value];
  double number;
  uint64_t bits;

  if (v->parameter != CLARKE_NONE)
    return v->origin != NULL ? v->origin[entry] : entry;
  number = v->real[entry] + 0.0; /* -0 is 0 */
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

clarke_identity
clarke_key_settle(clarke_key *k, bool constant, size_t value, size_t entry)
{
  if (!constant || !has_number(k->ids, value, entry))
    return clarke_key_intern(k, constant);
  free(k->word);
  return clarke_identity_by_number(k->ids, value, entry);
}
