/* Identities of entries: each is found when asked for, behind what only moves entries, and remembered. */

#include "network/pass/identity.h"

#include "network/pass/identity/steps.h"

#include <math.h>
#include <stdlib.h>

/* Deeper than this an entry is only identical to itself: recursion must end. */
#define MAX_DEPTH 4000

clarke_identities *
clarke_identities_new(const clarke_graph *g, size_t n, clarke_branch *const *piece,
                      const clarke_matrix *value, const clarke_tensor *x)
{
  clarke_identities *ids = calloc(1, sizeof *ids);

  if (ids == NULL)
    return NULL;
  ids->g = g;
  ids->n = n;
  ids->piece = piece;
  ids->value = value;
  ids->x = x;
  ids->known = calloc(g->n_values + 1, sizeof *ids->known);
  ids->patch = calloc(g->n_steps + 1, sizeof *ids->patch);
  ids->weights = calloc(g->n_steps + 1, sizeof *ids->weights);
  if (ids->known != NULL && ids->patch != NULL && ids->weights != NULL)
    return ids;
  clarke_identities_free(ids);
  return NULL;
}

void
clarke_identities_free(clarke_identities *ids)
{
  if (ids == NULL)
    return;
  for (size_t v = 0; ids->known != NULL && v < ids->g->n_values; v++)
    free(ids->known[v]);
  for (size_t i = 0; ids->patch != NULL && i < ids->g->n_steps; i++)
    free(ids->patch[i]);
  for (size_t i = 0; ids->weights != NULL && i < ids->g->n_steps; i++)
    free(ids->weights[i]);
  free(ids->known);
  free(ids->patch);
  free(ids->weights);
  free(ids->start);
  free(ids->words);
  free(ids->slot);
  free(ids);
}

bool
clarke_identities_failed(const clarke_identities *ids)
{
  return ids->failed;
}

/* How many patches, groups or lines of one sample a step's outputs are made of. */
static size_t
patches(const clarke_step *s)
{
  return s == NULL                     ? 0
         : s->kind == CLARKE_DENSE     ? s->dense.blocks * s->dense.repeat
         : s->kind == CLARKE_NORMALIZE ? s->grouping.groups
         : s->kind == CLARKE_SOFTMAX   ? s->groups * s->stride
                                       : 0;
}

clarke_identity *
clarke_identities_known(clarke_identities *ids, size_t value)
{
  const clarke_value *v = &ids->g->values[value];
  const clarke_step *s = v->producer != CLARKE_NONE ? &ids->g->steps[v->producer] : NULL;
  size_t n = patches(s);

  if (ids->known[value] == NULL)
    ids->known[value] = calloc(v->count * ids->n + 1, sizeof **ids->known);
  if (n > 0 && ids->patch[v->producer] == NULL)
    ids->patch[v->producer] = calloc(n * ids->n + 1, sizeof **ids->patch);
  if (ids->known[value] == NULL || (n > 0 && ids->patch[v->producer] == NULL)) {
    ids->failed = true;
    return NULL;
  }
  return ids->known[value];
}

/* Does a step take each entry once, as its operator made it? So is a sum over an axis of one entry, and a mean. */
static bool
takes_once(const clarke_identities *ids, const clarke_step *s, size_t feature)
{
  const bool dense = s->kind == CLARKE_DENSE;
  const clarke_value *by = &ids->g->values[dense ? s->dense.weight : s->in[1].value];

  if (!by->made || (dense ? s->dense.inner != 1 || by->count != 1 : s->root))
    return false;
  return by->real[dense ? 0 : clarke_operand_entry(&s->in[1], feature)] == 1;
}

/* What an entry is a copy of, of the step's operand `*operand`: *feature is moved there, to CLARKE_NONE in
 * padding. Entries are moved by GATHER, and by SUM where the others are not there (Concat); a window's
 * output is its largest entry, of which the first stands for tied ones of one identity. A SUM may turn the sign. */
static bool
copies(const clarke_identities *ids, const clarke_step *s, size_t *operand, size_t *feature,
       size_t column, bool *turned)
{
  size_t there = 0;
  clarke_branch code;

  *operand = 0;
  switch (s->kind) {
  case CLARKE_GATHER:
    *feature = clarke_operand_entry(&s->in[0], *feature);
    return true;
  case CLARKE_DENSE:
    return takes_once(ids, s, *feature);
  case CLARKE_SCALE:
    if (!takes_once(ids, s, *feature))
      return false;
    *feature = clarke_operand_entry(&s->in[0], *feature);
    return true;
  case CLARKE_MAX:
    code = ids->piece[s - ids->g->steps][*feature * ids->n + column];
    if (code >= 0)
      *feature = s->in[0].map[*feature * s->width + (size_t)code];
    return code >= 0;
  case CLARKE_SUM:
    for (size_t i = 0; i < s->n_in; i++)
      if (clarke_operand_entry(&s->in[i], *feature) != CLARKE_NONE) {
        *operand = i;
        there++;
      }
    if (there != 1 || fabs(s->in[*operand].coef) != 1 || ids->g->values[s->in[*operand].value].constant)
      return false;
    *turned = *turned != (s->in[*operand].coef < 0);
    *feature = clarke_operand_entry(&s->in[*operand], *feature);
    return true;
  default:
    return false;
  }
}

/* The identity of an entry that is minus one with this identity. */
static clarke_identity
turned_identity(clarke_identities *ids, clarke_identity id, size_t value, size_t entry)
{
  clarke_key k = clarke_key_begin(ids, TURNED, 0);

  clarke_key_put(&k, id);
  return clarke_key_settle(&k, clarke_identity_is_constant(id), value, entry);
}

clarke_identity
clarke_identity_turned(clarke_identities *ids, clarke_identity id)
{
  return id == 0 || clarke_identity_is_constant(id) || ids->failed ? 0 : turned_identity(ids, id, 0, 0);
}

/* What an entry is a copy of, or minus one of. */
typedef struct {
  size_t value, feature; /* CLARKE_NONE: padding */
  bool turned;
} origin;

static origin
origin_of(const clarke_identities *ids, size_t value, size_t feature, size_t column)
{
  const clarke_step *s = clarke_identities_producer(ids, value);
  origin from = {value, feature, false};

  for (size_t i; from.feature != CLARKE_NONE && s != NULL && copies(ids, s, &i, &from.feature, column, &from.turned);
       s = clarke_identities_producer(ids, from.value))
    from.value = s->in[i].value;
  return from;
}

clarke_identity
clarke_identity_of(clarke_identities *ids, size_t value, size_t feature, size_t column)
{
  const origin from = origin_of(ids, value, feature, column);
  const clarke_step *s = clarke_identities_producer(ids, from.value);
  clarke_identity *known;

  if (from.feature == CLARKE_NONE)
    return CLARKE_IDENTITY_ZERO;
  known = ids->failed ? NULL : clarke_identities_known(ids, from.value);
  if (known == NULL)
    return 0;
  known += from.feature * ids->n + column;
  if (*known == 0) {
    ids->depth++;
    *known = s == NULL                ? clarke_identity_by_number(ids, from.value, from.feature * ids->n + column)
             : ids->depth > MAX_DEPTH ? clarke_identity_alone(ids, from.value, from.feature * ids->n + column)
                                      : clarke_identity_of_step(ids, s, from.value, from.feature, column);
    ids->depth--;
  }
  if (ids->failed)
    return 0;
  return from.turned && *known != CLARKE_IDENTITY_ZERO ? turned_identity(ids, *known, value, feature * ids->n + column) : *known;
}

bool
clarke_identity_same(clarke_identities *ids, size_t value, size_t a, size_t b, size_t column)
{
  const origin from_a = origin_of(ids, value, a, column), from_b = origin_of(ids, value, b, column);
  clarke_identity id;

  if (from_a.value == from_b.value && from_a.feature == from_b.feature && from_a.turned == from_b.turned)
    return true;
  id = clarke_identity_of(ids, value, a, column);
  return id != 0 && id == clarke_identity_of(ids, value, b, column);
}
