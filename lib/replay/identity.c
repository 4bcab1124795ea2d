#include "replay/identity.h"

#include "graph/operator.h"

#include <stdlib.h>
#include <string.h>

/* What an entry's identity depends on, as words: entries with equal keys are identical. */
typedef struct {
  clarke_forward *f;
  const clarke_step *s; /* NULL: the graph's input */
  size_t value, n;
  const clarke_identity *x; /* of the step's first operand */
  size_t length;            /* words of a key */
  const uint32_t *patch;    /* of a product: the class of each column, and what it is */
  const uint8_t *kind;
} source;

enum { KEY_ZERO, KEY_CONSTANT, KEY_STRUCTURE, KEY_ALONE };

/* Fills a key of zeros. */
typedef void reader(const source *s, size_t item, uint64_t *key);

static void
read_key(const source *s, reader *read, size_t item, uint64_t *key)
{
  memset(key, 0, s->length * sizeof *key);
  read(s, item, key);
}

static uint64_t
hash(const uint64_t *key, size_t length)
{
  uint64_t h = 0x9e3779b97f4a7c15;

  for (size_t i = 0; i < length; i++) {
    h = (h ^ key[i]) * 0xff51afd7ed558ccd;
    h ^= h >> 32;
  }
  return h;
}

/* class[i] of n items: equal keys, equal class, numbered from 0 as they first occur. Keys are compared
 * whole: the hash only says where to look. */
static clarke_status
classify(uint32_t *class, size_t *n_classes, const source *s, size_t n, reader *read,
         clarke_error *err)
{
  size_t size = 64;
  uint64_t *key = malloc((2 * s->length + 1) * sizeof *key), *other = key + s->length;
  uint32_t *slot, *first;

  while (size < 2 * n)
    size *= 2;
  slot = calloc(size, sizeof *slot);           /* a class + 1 */
  first = malloc((n + 1) * sizeof *first);     /* item of a class */
  *n_classes = 0;
  for (size_t i = 0; key != NULL && slot != NULL && first != NULL && i < n; i++) {
    size_t at;

    read_key(s, read, i, key);
    for (at = hash(key, s->length) & (size - 1); slot[at] != 0; at = (at + 1) & (size - 1)) {
      read_key(s, read, first[slot[at] - 1], other);
      if (memcmp(key, other, s->length * sizeof *key) == 0)
        break;
    }
    if (slot[at] == 0) {
      first[*n_classes] = (uint32_t)i;
      slot[at] = (uint32_t)++*n_classes;
    }
    class[i] = slot[at] - 1;
  }
  clarke_status status = key != NULL && slot != NULL && first != NULL
                           ? CLARKE_OK
                           : clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  free(key);
  free(slot);
  free(first);
  return status;
}

static bool
is_constant(clarke_identity id)
{
  return id == CLARKE_IDENTITY_ZERO || (id & CLARKE_IDENTITY_CONSTANT) != 0;
}

static bool
is_rational(const source *s, size_t item)
{
  const clarke_matrix *y = &s->f->value[s->value];

  return y->radius == NULL || y->radius[item] == 0;
}

/* The words of a constant and rational entry, in place of what the key was. */
static void
constant_key(const source *s, size_t item, uint64_t *key)
{
  const clarke_matrix *y = &s->f->value[s->value];
  bool zero = true;

  memset(key, 0, s->length * sizeof *key);
  for (size_t l = 0; l < y->limbs; l++) {
    key[1 + l] = y->word[item * y->limbs + l];
    zero = zero && key[1 + l] == 0;
  }
  key[0] = zero ? KEY_ZERO : KEY_CONSTANT;
}

/* An entry of a constant operand: which entry of its parameter, or its number. */
static uint64_t
coefficient(const clarke_graph *g, size_t value, size_t entry)
{
  const clarke_value *v = &g->values[value];
  uint64_t bits;

  if (clarke_value_is_wrt(g, value))
    return v->origin != NULL ? v->origin[entry] : entry;
  memcpy(&bits, &v->real[entry], sizeof bits);
  return bits;
}

static size_t
mapped(const clarke_operand *o, size_t f)
{
  return o->map != NULL ? o->map[f] : f;
}

static void
read_input(const source *s, size_t item, uint64_t *key)
{
  constant_key(s, item, key);
}

static void
read_sum(const source *s, size_t item, uint64_t *key)
{
  const clarke_graph *g = s->f->g;
  bool constant = true;

  for (size_t i = 0; i < s->s->n_in; i++) {
    const clarke_operand *o = &s->s->in[i];
    size_t from = mapped(o, item / s->n);

    if (from == CLARKE_NONE)
      key[1 + i] = CLARKE_IDENTITY_ZERO;
    else if (g->values[o->value].constant) {
      key[1 + i] = coefficient(g, o->value, from);
      constant = constant && !clarke_value_is_wrt(g, o->value);
    } else {
      key[1 + i] = s->f->identity[o->value][from * s->n + item % s->n];
      constant = constant && is_constant((clarke_identity)key[1 + i]);
    }
  }
  key[0] = KEY_STRUCTURE;
  if (constant && is_rational(s, item))
    constant_key(s, item, key);
}

static void
read_scale(const source *s, size_t item, uint64_t *key)
{
  const clarke_operand *c = &s->s->in[1];
  size_t from = mapped(&s->s->in[0], item / s->n);
  clarke_identity x = from == CLARKE_NONE ? CLARKE_IDENTITY_ZERO : s->x[from * s->n + item % s->n];

  key[0] = KEY_STRUCTURE;
  key[1] = x;
  key[2] = coefficient(s->f->g, c->value, mapped(c, item / s->n));
  if (x == CLARKE_IDENTITY_ZERO)
    key[0] = KEY_ZERO;
  else if (is_constant(x) && !clarke_value_is_wrt(s->f->g, c->value) && is_rational(s, item))
    constant_key(s, item, key);
}

/* Strictly inside a piece that is a number? */
static bool
on_constant_piece(const source *s, size_t item)
{
  int8_t code = s->f->piece[s->s - s->f->g->steps][item];
  const clarke_pieces *p = &s->s->pieces;

  return code >= 0 && (p->slope == CLARKE_NONE || code > 0) && mpq_sgn(p->coef[code][1]) == 0 &&
         mpq_sgn(p->coef[code][2]) == 0;
}

static void
read_piecewise(const source *s, size_t item, uint64_t *key)
{
  const clarke_graph *g = s->f->g;
  const clarke_pieces *p = &s->s->pieces;
  bool moves = p->slope != CLARKE_NONE && clarke_value_is_wrt(g, p->slope) &&
               s->x[item] != CLARKE_IDENTITY_ZERO;

  key[0] = KEY_STRUCTURE;
  key[1] = s->x[item];
  key[2] = p->slope == CLARKE_NONE
             ? 0
             : coefficient(g, p->slope, p->slope_map != NULL ? p->slope_map[item / s->n]
                                                             : item / s->n);
  if (((is_constant(s->x[item]) && !moves) || on_constant_piece(s, item)) && is_rational(s, item))
    constant_key(s, item, key);
}

/* An item is a column of the product: (block, repeat, sample). */
static void
read_patch(const source *s, size_t item, uint64_t *key)
{
  const clarke_dense *d = &s->s->dense;
  size_t width = d->repeat * s->n, b = item / width;

  key[0] = d->grouped ? b : 0;
  for (size_t i = 0; i < d->inner; i++)
    key[1 + i] = s->x[(b * d->inner + i) * width + item % width];
}

static void
read_alone(const source *s, size_t item, uint64_t *key)
{
  (void)s;
  key[0] = KEY_ALONE;
  key[1] = item;
}

/* A window's output is its largest entry; the winner stands for tied entries of one identity. */
static void
read_max(const source *s, size_t item, uint64_t *key)
{
  int8_t code = s->f->piece[s->s - s->f->g->steps][item];
  size_t from = code >= 0 ? s->s->in[0].map[item / s->n * s->s->width + (size_t)code] : 0;

  if (code < 0)
    read_alone(s, item, key);
  else {
    key[0] = KEY_STRUCTURE;
    key[1] = s->x[from * s->n + item % s->n];
    if (is_constant((clarke_identity)key[1]) && is_rational(s, item))
      constant_key(s, item, key);
  }
}

static clarke_status
too_many(const source *s, clarke_error *err)
{
  return clarke_fail(err, CLARKE_ENOMEM, "%s: over 2^31 different entries in one activation",
                     s->f->g->file);
}

/* Identities from the keys of all entries. */
static clarke_status
identify(clarke_identity *y, source *s, size_t structure, reader *read, clarke_error *err)
{
  const clarke_matrix *m = &s->f->value[s->value];
  size_t count = m->rows * m->cols, n_classes;
  uint64_t *key;
  clarke_status status;

  s->length = 1 + (structure > m->limbs ? structure : m->limbs);
  if (count >= CLARKE_IDENTITY_CONSTANT)
    return too_many(s, err);
  key = calloc(s->length, sizeof *key);
  if (key == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  status = classify(y, &n_classes, s, count, read, err);
  for (size_t e = 0; e < count && status == CLARKE_OK; e++) {
    read_key(s, read, e, key);
    y[e] = key[0] == KEY_ZERO ? CLARKE_IDENTITY_ZERO
                              : (y[e] + 1) | (key[0] == KEY_CONSTANT ? CLARKE_IDENTITY_CONSTANT : 0);
  }
  free(key);
  return status;
}

static clarke_status
identify_gather(clarke_identity *y, const source *s)
{
  size_t count = s->f->g->values[s->value].count;

  for (size_t f = 0; f < count; f++) {
    size_t from = mapped(&s->s->in[0], f);

    if (from == CLARKE_NONE)
      memset(y + f * s->n, 0, s->n * sizeof *y);
    else
      memcpy(y + f * s->n, s->x + from * s->n, s->n * sizeof *y);
  }
  return CLARKE_OK;
}

/* What a column of the product is, given its key. Zero in all places: its outputs are 0. */
static uint8_t
patch_kind(const source *s, const uint64_t *key)
{
  const clarke_dense *d = &s->s->dense;
  bool zero = true, constant = !clarke_value_is_wrt(s->f->g, d->weight);

  for (size_t i = 0; i < d->inner; i++) {
    zero = zero && key[1 + i] == CLARKE_IDENTITY_ZERO;
    constant = constant && is_constant((clarke_identity)key[1 + i]);
  }
  return zero ? KEY_ZERO : constant ? KEY_CONSTANT : KEY_STRUCTURE;
}

/* An entry of the product: its column, and which output of it. */
static void
read_product(const source *s, size_t item, uint64_t *key)
{
  const clarke_dense *d = &s->s->dense;
  size_t width = d->repeat * s->n, row = item / width;
  size_t column = row / d->outer * width + item % width;

  key[0] = s->kind[column];
  if (key[0] == KEY_CONSTANT && is_rational(s, item))
    constant_key(s, item, key);
  else if (key[0] != KEY_ZERO) {
    key[0] = KEY_STRUCTURE;
    key[1] = s->patch[column];
    key[2] = row % d->outer;
  }
}

/* The same without a table, where no entry is a constant other than 0. */
static void
number_product(clarke_identity *y, const source *s, size_t n)
{
  const clarke_dense *d = &s->s->dense;
  size_t width = d->repeat * s->n;

  for (size_t column = 0; column < n; column++)
    for (size_t o = 0; o < d->outer; o++)
      y[(column / width * d->outer + o) * width + column % width] =
        s->kind[column] == KEY_ZERO ? CLARKE_IDENTITY_ZERO
                                    : (clarke_identity)(s->patch[column] * d->outer + o + 1);
}

static clarke_status
identify_dense(clarke_identity *y, source *s, clarke_error *err)
{
  const clarke_dense *d = &s->s->dense;
  size_t n = d->blocks * d->repeat * s->n, n_classes;
  uint32_t *class = malloc((n + 1) * sizeof *class);
  uint8_t *kind = malloc(n + 1);
  uint64_t *key = malloc((d->inner + 1) * sizeof *key);
  bool constants = false;
  clarke_status status = class != NULL && key != NULL && kind != NULL
                           ? CLARKE_OK
                           : clarke_fail(err, CLARKE_ENOMEM, "out of memory");

  s->length = 1 + d->inner;
  if (status == CLARKE_OK)
    status = classify(class, &n_classes, s, n, read_patch, err);
  for (size_t item = 0; item < n && status == CLARKE_OK; item++) {
    read_key(s, read_patch, item, key);
    kind[item] = patch_kind(s, key);
    constants = constants || kind[item] == KEY_CONSTANT;
  }
  s->patch = class;
  s->kind = kind;
  if (status == CLARKE_OK && constants)
    status = identify(y, s, 2, read_product, err);
  else if (status == CLARKE_OK && n_classes >= CLARKE_IDENTITY_CONSTANT / d->outer)
    status = too_many(s, err);
  else if (status == CLARKE_OK)
    number_product(y, s, n);
  free(class);
  free(kind);
  free(key);
  return status;
}

static clarke_status
identify_step(clarke_identity *y, source *s, clarke_error *err)
{
  switch (s->s->kind) {
  case CLARKE_GATHER:
    return identify_gather(y, s);
  case CLARKE_SUM:
    return identify(y, s, s->s->n_in, read_sum, err);
  case CLARKE_SCALE:
    return identify(y, s, 2, read_scale, err);
  case CLARKE_DENSE:
    return identify_dense(y, s, err);
  case CLARKE_PIECEWISE:
    return identify(y, s, 2, read_piecewise, err);
  case CLARKE_MAX:
    return identify(y, s, 1, read_max, err);
  case CLARKE_ANALYTIC:
  case CLARKE_SOFTMAX:
    break;
  }
  return identify(y, s, 1, read_alone, err);
}

static clarke_status
identify_value(clarke_forward *f, size_t value, clarke_error *err)
{
  const clarke_value *v = &f->g->values[value];
  source s = {.f = f, .value = value, .n = f->n,
              .s = v->producer != CLARKE_NONE ? &f->g->steps[v->producer] : NULL};
  clarke_identity *y = malloc((v->count * f->n + 1) * sizeof *y);
  clarke_status status;

  if (y == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  if (s.s != NULL)
    s.x = f->identity[s.s->in[0].value];
  status = s.s == NULL ? identify(y, &s, 1, read_input, err) : identify_step(y, &s, err);
  f->identity[value] = y;
  return status;
}

/* What the value depends on comes first: steps are in topological order. */
clarke_status
clarke_identities(const clarke_identity **identity, clarke_forward *f, size_t value,
                  clarke_error *err)
{
  const clarke_graph *g = f->g;
  bool *wanted = calloc(g->n_values + 1, sizeof *wanted);
  clarke_status status = CLARKE_OK;

  if (wanted == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  wanted[value] = f->identity[value] == NULL;
  for (size_t i = g->n_steps; i-- > 0;)
    for (size_t k = 0; wanted[g->steps[i].out] && k < g->steps[i].n_in; k++) {
      size_t in = g->steps[i].in[k].value;

      wanted[in] = !g->values[in].constant && f->identity[in] == NULL;
    }
  if (wanted[g->input])
    status = identify_value(f, g->input, err);
  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK; i++)
    if (wanted[g->steps[i].out])
      status = identify_value(f, g->steps[i].out, err);
  free(wanted);
  *identity = f->identity[value];
  return status;
}
