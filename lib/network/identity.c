#include "network/identity.h"

#include "network/piecewise.h"

#include <stdlib.h>
#include <string.h>

/* Constants other than 0 have this bit. */
#define CONSTANT ((clarke_identity)1 << 31)
/* Deeper than this an entry is only identical to itself: recursion must end. */
#define MAX_DEPTH 4000

struct clarke_identities {
  const clarke_graph *g;
  size_t n;
  int8_t *const *piece;
  const clarke_matrix *value;
  const clarke_tensor *x;
  clarke_identity **known;     /* by value, features x columns: 0 where it is not known yet */
  clarke_identity **patch;     /* by step: of a product's columns, or of the groups of a NORMALIZE */
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

/* A key under way: words appended to the store behind its last key. */
typedef struct {
  clarke_identities *ids;
  uint32_t *word;
  size_t n, capacity;
} key;

static bool
is_constant(clarke_identity id)
{
  return id == CLARKE_IDENTITY_ZERO || (id & CONSTANT) != 0;
}

static void
put(key *k, uint64_t word)
{
  if (k->n + 2 > k->capacity) {
    size_t wanted = 2 * k->capacity + 64;
    uint32_t *grown = realloc(k->word, wanted * sizeof *grown);

    if (grown == NULL) {
      k->ids->failed = true;
      return;
    }
    k->word = grown;
    k->capacity = wanted;
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

  if (ids->n_keys + 2 > ids->key_capacity) {
    size_t wanted = 2 * ids->key_capacity + 1024;
    size_t *grown = realloc(ids->start, wanted * sizeof *grown);

    if (grown == NULL)
      return false;
    ids->start = grown;
    ids->key_capacity = wanted;
    ids->start[0] = 0;
  }
  if (used + n > ids->word_capacity) {
    size_t wanted = 2 * (used + n) + 4096;
    uint32_t *grown = realloc(ids->words, wanted * sizeof *grown);

    if (grown == NULL)
      return false;
    ids->words = grown;
    ids->word_capacity = wanted;
  }
  return ids->n_keys < CONSTANT - 4 && (2 * ids->n_keys < ids->n_slots || grow_table(ids));
}

/* The number of the key, a new one if it is new: keys are compared whole, the hash only says where to
 * look. Numbers begin behind that of zero. The key is freed. */
static clarke_identity
intern(key *k, bool constant)
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
    id = (ids->slot[at] + CLARKE_IDENTITY_ZERO) | (constant ? CONSTANT : 0);
  }
  free(k->word);
  return id;
}

/* Kinds of keys; a key begins with its kind and the value it is of. */
enum { BY_NUMBER, BY_STRUCTURE, BY_PLACE };

static key
begin(clarke_identities *ids, unsigned kind, size_t value)
{
  key k = {.ids = ids};

  put(&k, (uint64_t)value << 2 | kind);
  return k;
}

/* An entry that is identical to itself only. */
static clarke_identity
alone(clarke_identities *ids, size_t value, size_t entry)
{
  key k = begin(ids, BY_PLACE, value);

  put(&k, entry);
  return intern(&k, false);
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
put_rational(key *k, const mpq_t q)
{
  const mpz_srcptr part[2] = {mpq_numref(q), mpq_denref(q)};

  put(k, (uint64_t)mpq_sgn(q) + 1);
  for (size_t i = 0; i < 2; i++) {
    size_t n = mpz_size(part[i]);

    put(k, n);
    for (size_t l = 0; l < n; l++)
      put(k, mpz_getlimbn(part[i], (mp_size_t)l));
  }
  return mpq_sgn(q) != 0;
}

/* The same for entries of all values: a copy is known by what it copies. */
static clarke_identity
by_number(clarke_identities *ids, size_t value, size_t entry)
{
  key k = begin(ids, BY_NUMBER, 0);
  bool zero;

  if (ids->value == NULL) { /* an input */
    size_t from = entry % ids->n * ids->g->values[value].count + entry / ids->n;
    double number = ids->x->real != NULL ? ids->x->real[from] : (double)ids->x->integer[from];
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    put(&k, bits);
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
  return intern(&k, true);
}

/* No coefficient: no entry has this index, no number these bits. */
#define LEFT_OUT UINT64_MAX

/* Which entry of its parameter (in wrt or not) a constant's entry is, or its number. */
static uint64_t
coefficient(const clarke_graph *g, size_t value, size_t entry)
{
  const clarke_value *v = &g->values[value];
  uint64_t bits;

  if (v->parameter != CLARKE_NONE)
    return v->origin != NULL ? v->origin[entry] : entry;
  memcpy(&bits, &v->real[entry], sizeof bits);
  return bits;
}

static size_t
mapped(const clarke_operand *o, size_t f)
{
  return o->map != NULL ? o->map[f] : f;
}

/* A constant by its number if that is known; else by the structure that the key holds. */
static clarke_identity
settle(key *k, bool constant, size_t value, size_t entry)
{
  if (!constant || !has_number(k->ids, value, entry))
    return intern(k, constant);
  free(k->word);
  return by_number(k->ids, value, entry);
}

static clarke_identity
of_scale(clarke_identities *ids, const clarke_step *s, size_t f, size_t j)
{
  size_t from = mapped(&s->in[0], f);
  clarke_identity x = from == CLARKE_NONE ? CLARKE_IDENTITY_ZERO
                                          : clarke_identity_of(ids, s->in[0].value, from, j);
  key k = {.ids = ids};

  if (x == CLARKE_IDENTITY_ZERO)
    return x;
  k = begin(ids, BY_STRUCTURE, s->out);
  put(&k, x);
  put(&k, coefficient(ids->g, s->in[1].value, mapped(&s->in[1], f)));
  return settle(&k, is_constant(x) && !clarke_value_is_wrt(ids->g, s->in[1].value), s->out,
                f * ids->n + j);
}

/* How many patches, or groups, of one sample a step's outputs are made of. */
static size_t
patches(const clarke_step *s)
{
  return s == NULL                        ? 0
         : s->kind == CLARKE_DENSE        ? s->dense.blocks * s->dense.repeat
         : s->kind == CLARKE_NORMALIZE ? s->grouping.groups
                                          : 0;
}

/* The array of what is known of a value's entries, made when first needed. */
static clarke_identity *
known_of(clarke_identities *ids, size_t value)
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

/* The column of a product: what its places are. */
static clarke_identity
patch_of(clarke_identities *ids, const clarke_step *s, size_t b, size_t r, size_t j)
{
  const clarke_dense *d = &s->dense;
  clarke_identity *known = &ids->patch[s - ids->g->steps][(b * d->repeat + r) * ids->n + j];
  bool constant = !clarke_value_is_wrt(ids->g, d->weight), zero = true;
  key k = {.ids = ids};

  if (*known != 0)
    return *known;
  k = begin(ids, BY_PLACE, s->out);
  put(&k, d->grouped ? b : 0);
  for (size_t i = 0; i < d->inner; i++) {
    clarke_identity id =
      clarke_identity_of(ids, s->in[0].value, (b * d->inner + i) * d->repeat + r, j);

    put(&k, id);
    constant = constant && is_constant(id);
    zero = zero && id == CLARKE_IDENTITY_ZERO;
  }
  if (zero) {
    free(k.word);
    return *known = CLARKE_IDENTITY_ZERO;
  }
  return *known = intern(&k, constant);
}

/* The key of a product's entry: its column, and which output of it. */
static key
product_key(clarke_identities *ids, const clarke_step *s, size_t f, clarke_identity patch)
{
  key k = begin(ids, BY_STRUCTURE, s->out);

  put(&k, patch);
  put(&k, f / s->dense.repeat % s->dense.outer);
  return k;
}

static clarke_identity
of_dense(clarke_identities *ids, const clarke_step *s, size_t f, size_t j)
{
  const clarke_dense *d = &s->dense;
  clarke_identity patch = patch_of(ids, s, f / d->repeat / d->outer, f % d->repeat, j);
  key k = {.ids = ids};

  if (patch == CLARKE_IDENTITY_ZERO)
    return patch;
  k = product_key(ids, s, f, patch);
  return settle(&k, is_constant(patch), s->out, f * ids->n + j);
}

/* An operand of a sum. A product that the same node of the file makes is known by its places alone: node
 * and bias are one linear node. */
static clarke_identity
of_operand(clarke_identities *ids, const clarke_step *s, size_t value, size_t f, size_t j)
{
  size_t step = ids->g->values[value].producer;
  const clarke_step *p = step != CLARKE_NONE ? &ids->g->steps[step] : NULL;
  clarke_identity patch;
  key k = {.ids = ids};

  if (p == NULL || p->kind != CLARKE_DENSE || p->node != s->node)
    return clarke_identity_of(ids, value, f, j);
  known_of(ids, value);
  patch = ids->failed ? CLARKE_IDENTITY_ZERO
                      : patch_of(ids, p, f / p->dense.repeat / p->dense.outer, f % p->dense.repeat, j);
  if (patch == CLARKE_IDENTITY_ZERO)
    return patch;
  k = product_key(ids, p, f, patch);
  return intern(&k, is_constant(patch));
}

static clarke_identity
of_sum(clarke_identities *ids, const clarke_step *s, size_t f, size_t j)
{
  key k = begin(ids, BY_STRUCTURE, s->out);
  bool constant = true, zero = true;

  for (size_t i = 0; i < s->n_in; i++) {
    const clarke_operand *o = &s->in[i];
    size_t from = mapped(o, f);
    bool there = from != CLARKE_NONE;

    if (ids->g->values[o->value].constant) {
      put(&k, there ? coefficient(ids->g, o->value, from) : LEFT_OUT);
      constant = constant && !(there && clarke_value_is_wrt(ids->g, o->value));
      zero = zero && !there;
    } else {
      clarke_identity id = there ? of_operand(ids, s, o->value, from, j) : CLARKE_IDENTITY_ZERO;

      put(&k, id);
      constant = constant && is_constant(id);
      zero = zero && id == CLARKE_IDENTITY_ZERO;
    }
  }
  if (zero) {
    free(k.word);
    return CLARKE_IDENTITY_ZERO;
  }
  return settle(&k, constant, s->out, f * ids->n + j);
}

/* Strictly inside a piece that is a number near w? PRelu's left one is when its slope is 0 for good. */
static bool
on_constant_piece(const clarke_graph *g, const clarke_pieces *p, int8_t code, size_t slope)
{
  if (code == 0 && p->slope != CLARKE_NONE)
    return !clarke_value_is_wrt(g, p->slope) && g->values[p->slope].real[slope] == 0;
  return clarke_piece_is_number(p, code);
}

static clarke_identity
of_piecewise(clarke_identities *ids, const clarke_step *s, size_t f, size_t j)
{
  const clarke_pieces *p = &s->pieces;
  size_t slope = p->slope == CLARKE_NONE ? 0 : p->slope_map != NULL ? p->slope_map[f] : f;
  int8_t code = ids->piece[s - ids->g->steps][f * ids->n + j];
  bool number = on_constant_piece(ids->g, p, code, slope), moves, constant;
  clarke_identity x;
  key k = {.ids = ids};

  if (number && mpq_sgn(p->coef[code][0]) == 0)
    return CLARKE_IDENTITY_ZERO;
  x = number ? (clarke_identity)code : clarke_identity_of(ids, s->in[0].value, f, j);
  moves = code <= 0 && x != CLARKE_IDENTITY_ZERO && p->slope != CLARKE_NONE &&
          clarke_value_is_wrt(ids->g, p->slope);
  constant = number || (is_constant(x) && !moves);
  k = begin(ids, BY_STRUCTURE, s->out);
  put(&k, x);
  put(&k, number);
  if (p->slope != CLARKE_NONE)
    put(&k, coefficient(ids->g, p->slope, slope));
  return settle(&k, constant, s->out, f * ids->n + j);
}

/* A group of a NORMALIZE step: zero when all of its entries are one function, which is then its own mean;
 * constant when they all are. */
static clarke_identity
group_of(clarke_identities *ids, const clarke_step *s, size_t group, size_t j)
{
  const clarke_grouping *o = &s->grouping;
  size_t from = o->couples ? 0 : j, to = o->couples ? ids->n : j + 1;
  size_t count = ids->g->values[s->out].count;
  clarke_identity *known = &ids->patch[s - ids->g->steps][group * ids->n + from], first = 0;
  bool one = true, constant = true;
  key k = {.ids = ids};

  for (size_t f = 0; f < count && *known == 0 && (one || constant); f++)
    for (size_t c = from; c < to && clarke_step_group(s, f) == group && (one || constant); c++) {
      clarke_identity id = clarke_identity_of(ids, s->in[0].value, f, c);

      first = first == 0 ? id : first;
      one = one && id == first && id != 0;
      constant = constant && is_constant(id);
    }
  if (*known != 0)
    return *known;
  if (one)
    return *known = CLARKE_IDENTITY_ZERO;
  k = begin(ids, BY_PLACE, s->out);
  put(&k, group);
  put(&k, from);
  return *known = intern(&k, constant);
}

/* Entries of one group whose arguments are identical are: they lose one mean, and are divided by one
 * deviation. */
static clarke_identity
of_normalize(clarke_identities *ids, const clarke_step *s, size_t f, size_t j)
{
  clarke_identity group = group_of(ids, s, clarke_step_group(s, f), j);
  key k = {.ids = ids};

  if (group == CLARKE_IDENTITY_ZERO)
    return group;
  k = begin(ids, BY_STRUCTURE, s->out);
  put(&k, group);
  put(&k, clarke_identity_of(ids, s->in[0].value, f, j));
  return settle(&k, is_constant(group), s->out, f * ids->n + j);
}

/* Of ANALYTIC and SOFTMAX: its number where its arguments are constant and that is rational; else itself only. */
static clarke_identity
of_analytic(clarke_identities *ids, const clarke_step *s, size_t f, size_t j)
{
  size_t line = s->kind == CLARKE_SOFTMAX ? s->length : 1, stride = s->kind == CLARKE_SOFTMAX ? s->stride : 1;
  size_t first = line == 1 ? f : f - f / stride % line * stride;
  bool constant = true;
  key k = {.ids = ids};

  for (size_t l = 0; l < line && constant; l++)
    constant = is_constant(clarke_identity_of(ids, s->in[0].value, first + l * stride, j));
  k = begin(ids, BY_PLACE, s->out);
  put(&k, f * ids->n + j);
  return settle(&k, constant, s->out, f * ids->n + j);
}

static clarke_identity
find(clarke_identities *ids, const clarke_step *s, size_t value, size_t f, size_t j)
{
  switch (s->kind) {
  case CLARKE_SUM:
    return of_sum(ids, s, f, j);
  case CLARKE_SCALE:
    return of_scale(ids, s, f, j);
  case CLARKE_DENSE:
    return of_dense(ids, s, f, j);
  case CLARKE_PIECEWISE:
    return of_piecewise(ids, s, f, j);
  case CLARKE_NORMALIZE:
    return of_normalize(ids, s, f, j);
  case CLARKE_ANALYTIC:
  case CLARKE_SOFTMAX:
    return of_analytic(ids, s, f, j);
  case CLARKE_MAX: /* touched */
  case CLARKE_GATHER:
    break;
  }
  return alone(ids, value, f * ids->n + j);
}

static const clarke_step *
producer(const clarke_identities *ids, size_t value)
{
  size_t step = ids->g->values[value].producer;

  return step != CLARKE_NONE ? &ids->g->steps[step] : NULL;
}

/* What an entry is a copy of, of the step's operand `*operand`: *feature is moved there, to CLARKE_NONE in
 * padding. Entries are moved by GATHER, and by SUM where the others are not there (Concat); a window's
 * output is its largest entry, of which the first stands for tied ones of one identity. */
static bool
copies(const clarke_identities *ids, const clarke_step *s, size_t *operand, size_t *feature,
       size_t column)
{
  size_t there = 0;
  int8_t code;

  *operand = 0;
  switch (s->kind) {
  case CLARKE_GATHER:
    *feature = mapped(&s->in[0], *feature);
    return true;
  case CLARKE_MAX:
    code = ids->piece[s - ids->g->steps][*feature * ids->n + column];
    if (code >= 0)
      *feature = s->in[0].map[*feature * s->width + (size_t)code];
    return code >= 0;
  case CLARKE_SUM:
    for (size_t i = 0; i < s->n_in; i++)
      if (mapped(&s->in[i], *feature) != CLARKE_NONE) {
        *operand = i;
        there++;
      }
    if (there != 1 || s->in[*operand].coef != 1 || ids->g->values[s->in[*operand].value].constant)
      return false;
    *feature = mapped(&s->in[*operand], *feature);
    return true;
  default:
    return false;
  }
}

clarke_identity
clarke_identity_of(clarke_identities *ids, size_t value, size_t feature, size_t column)
{
  const clarke_step *s = producer(ids, value);
  clarke_identity *known;

  for (size_t i; s != NULL && copies(ids, s, &i, &feature, column); s = producer(ids, value)) {
    value = s->in[i].value;
    if (feature == CLARKE_NONE)
      return CLARKE_IDENTITY_ZERO;
  }
  known = ids->failed ? NULL : known_of(ids, value);
  if (known == NULL)
    return 0;
  known += feature * ids->n + column;
  if (*known == 0) {
    ids->depth++;
    *known = s == NULL                    ? by_number(ids, value, feature * ids->n + column)
             : ids->depth > MAX_DEPTH ? alone(ids, value, feature * ids->n + column)
                                          : find(ids, s, value, feature, column);
    ids->depth--;
  }
  return ids->failed ? 0 : *known;
}

/* --- without numbers --------------------------------------------------------------------------- */

/* Where two features are still the same. Of those below, `products` says how many may be looked through. */
typedef struct {
  const clarke_identities *ids;
  const double *input;
  uint64_t *same;
} comparison;

static bool
any_same(const comparison *c)
{
  uint64_t any = 0;

  for (size_t j = 0; j < c->ids->n; j++)
    any |= c->same[j];
  return any != 0;
}

static void
none_same(const comparison *c)
{
  memset(c->same, 0, c->ids->n * sizeof *c->same);
}

/* Entries of x, or 0. */
static void
compare_inputs(const comparison *c, size_t a, size_t b)
{
  size_t n = c->ids->n;
  const double *x = c->input + (a != CLARKE_NONE ? a : b) * n;
  const double *y = a != CLARKE_NONE && b != CLARKE_NONE ? c->input + b * n : NULL;

  for (size_t j = 0; y != NULL && j < n; j++)
    c->same[j] = x[j] == y[j] ? c->same[j] : 0;
  for (size_t j = 0; y == NULL && j < n; j++)
    c->same[j] = x[j] == 0 ? c->same[j] : 0;
}

static void compare_features(const comparison *c, size_t value, size_t a, size_t b, size_t products);

/* One output of one weight, of two columns. */
static void
compare_products(const comparison *c, const clarke_step *s, size_t a, size_t b, size_t products)
{
  const clarke_dense *d = &s->dense;
  size_t block_a = a / d->repeat / d->outer, block_b = b / d->repeat / d->outer;

  if (products == 0 || a / d->repeat % d->outer != b / d->repeat % d->outer ||
      (d->grouped && block_a != block_b)) {
    none_same(c);
    return;
  }
  for (size_t i = 0; i < d->inner && any_same(c); i++)
    compare_features(c, s->in[0].value, (block_a * d->inner + i) * d->repeat + a % d->repeat,
                     (block_b * d->inner + i) * d->repeat + b % d->repeat, products - 1);
}

static void
compare_sums(const comparison *c, const clarke_step *s, size_t a, size_t b, size_t products)
{
  const clarke_graph *g = c->ids->g;

  for (size_t i = 0; i < s->n_in && any_same(c); i++) {
    const clarke_operand *o = &s->in[i];
    size_t from_a = mapped(o, a), from_b = mapped(o, b);

    if (from_a == CLARKE_NONE || from_b == CLARKE_NONE || !g->values[o->value].constant)
      compare_features(c, o->value, from_a, from_b, products);
    else if (coefficient(g, o->value, from_a) != coefficient(g, o->value, from_b))
      none_same(c);
  }
}

static void
compare_features(const comparison *c, size_t value, size_t a, size_t b, size_t products)
{
  const clarke_step *s = producer(c->ids, value);

  if (a == b)
    return;
  if (value == c->ids->g->input)
    compare_inputs(c, a, b);
  else if (a == CLARKE_NONE || b == CLARKE_NONE || s == NULL)
    none_same(c);
  else if (s->kind == CLARKE_GATHER)
    compare_features(c, s->in[0].value, mapped(&s->in[0], a), mapped(&s->in[0], b), products);
  else if (s->kind == CLARKE_PIECEWISE && s->pieces.slope == CLARKE_NONE)
    compare_features(c, s->in[0].value, a, b, products);
  else if (s->kind == CLARKE_SUM)
    compare_sums(c, s, a, b, products);
  else if (s->kind == CLARKE_DENSE)
    compare_products(c, s, a, b, products);
  else
    none_same(c);
}

void
clarke_identity_compare(uint64_t *same, const clarke_identities *ids, const double *input,
                        size_t value, size_t a, size_t b)
{
  comparison c = {ids, input, same};

  compare_features(&c, value, a, b, 1);
}

clarke_identities *
clarke_identities_new(const clarke_graph *g, size_t n, int8_t *const *piece,
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
  if (ids->known != NULL && ids->patch != NULL)
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
  free(ids->known);
  free(ids->patch);
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
