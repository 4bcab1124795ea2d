/* The identity of an entry that a step makes, by those of the entries that it is made of. */
#include "network/pass/identity/steps.h"

#include "network/pass/piecewise.h"

#include <stdlib.h>

/* No coefficient: no entry has this index, no number these bits. */
#define LEFT_OUT UINT64_MAX

#define LINE_NAMED 1024 /* entries, at most, of a NORMALIZE step's group that is known by them (docs/proof-format.md, "Windows") */

static clarke_identity
of_scale(clarke_identities *ids, const clarke_step *s, size_t f, size_t j)
{
  size_t from = clarke_operand_entry(&s->in[0], f);
  clarke_identity x = from == CLARKE_NONE ? CLARKE_IDENTITY_ZERO
                                          : clarke_identity_of(ids, s->in[0].value, from, j);
  clarke_key k = {.ids = ids};

  if (x == CLARKE_IDENTITY_ZERO)
    return x;
  k = clarke_key_begin(ids, BY_STRUCTURE, s->out);
  clarke_key_put(&k, x);
  clarke_key_put(&k, clarke_coefficient(ids->g, s->in[1].value, clarke_operand_entry(&s->in[1], f)));
  return clarke_key_settle(&k, clarke_identity_is_constant(x) && !clarke_value_is_wrt(ids->g, s->in[1].value), s->out,
                           f * ids->n + j);
}

/* The column of a product: what its places are. */
static clarke_identity
patch_of(clarke_identities *ids, const clarke_step *s, size_t b, size_t r, size_t j)
{
  const clarke_dense *d = &s->dense;
  clarke_identity *known = &ids->patch[s - ids->g->steps][(b * d->repeat + r) * ids->n + j];
  bool constant = !clarke_value_is_wrt(ids->g, d->weight), zero = true;
  clarke_key k = {.ids = ids};

  if (*known != 0)
    return *known;
  k = clarke_key_begin(ids, BY_PLACE, s->out);
  for (size_t i = 0; i < d->inner; i++) {
    clarke_identity id =
      clarke_identity_of(ids, s->in[0].value, (b * d->inner + i) * d->repeat + r, j);

    clarke_key_put(&k, id);
    constant = constant && clarke_identity_is_constant(id);
    zero = zero && id == CLARKE_IDENTITY_ZERO;
  }
  if (zero) {
    free(k.word);
    return *known = CLARKE_IDENTITY_ZERO;
  }
  return *known = clarke_key_intern(&k, constant);
}

/* The weights of a product, place by place: which entry of its parameter, or which number, stands there in each row. NULL without
 * memory. */
static const uint64_t *
weights_of(clarke_identities *ids, const clarke_step *s, size_t rows)
{
  const clarke_dense *d = &s->dense;
  uint64_t **known = &ids->weights[s - ids->g->steps];

  if (*known == NULL)
    *known = calloc(rows * d->inner + 1, sizeof **known);
  else
    return *known;
  ids->failed = ids->failed || *known == NULL;
  for (size_t row = 0; *known != NULL && row < rows; row++)
    for (size_t i = 0; i < d->inner; i++)
      (*known)[i * rows + row] = clarke_coefficient(ids->g, d->weight, d->transposed ? i * d->outer + row : row * d->inner + i);
  return *known;
}

/* The row of the weights that makes entry (f, j): the first of those that are alike but for places whose entry is the constant 0. Each
 * row of a parameter as it stands has entries of its own. */
static size_t
row_of(clarke_identities *ids, const clarke_step *s, size_t f, size_t j)
{
  const clarke_dense *d = &s->dense;
  const clarke_value *w = &ids->g->values[d->weight];
  const size_t b = f / d->repeat / d->outer, r = f % d->repeat, row = f / d->repeat % d->outer + (d->grouped ? b * d->outer : 0);
  const size_t rows = d->outer * (d->grouped ? d->blocks : 1);
  const uint64_t *at = w->parameter != CLARKE_NONE && w->origin == NULL ? NULL : weights_of(ids, s, rows);
  size_t first = 0;

  if (at == NULL)
    return row;
  for (size_t i = 0; i < d->inner && first < row;) {
    if (clarke_identity_of(ids, s->in[0].value, (b * d->inner + i) * d->repeat + r, j) == CLARKE_IDENTITY_ZERO ||
        at[i * rows + first] == at[i * rows + row]) {
      i++;
      continue;
    }
    first++; /* and on from the first place: what was alike of one row need not be of the next */
    while (first < row && at[i * rows + first] != at[i * rows + row])
      first++;
    i = 0;
  }
  return first;
}

/* The key of a product's entry: its column, and which row makes it. */
static clarke_key
product_key(clarke_identities *ids, const clarke_step *s, size_t f, size_t j, clarke_identity patch)
{
  clarke_key k = clarke_key_begin(ids, BY_STRUCTURE, s->out);

  clarke_key_put(&k, patch);
  clarke_key_put(&k, row_of(ids, s, f, j));
  return k;
}

static clarke_identity
of_dense(clarke_identities *ids, const clarke_step *s, size_t f, size_t j)
{
  const clarke_dense *d = &s->dense;
  clarke_identity patch = patch_of(ids, s, f / d->repeat / d->outer, f % d->repeat, j);
  clarke_key k = {.ids = ids};

  if (patch == CLARKE_IDENTITY_ZERO)
    return patch;
  k = product_key(ids, s, f, j, patch);
  return clarke_key_settle(&k, clarke_identity_is_constant(patch), s->out, f * ids->n + j);
}

/* An operand of a sum. A product that the same node of the file makes is known by its places alone: node
 * and bias are one linear node. */
static clarke_identity
of_operand(clarke_identities *ids, const clarke_step *s, size_t value, size_t f, size_t j)
{
  size_t step = ids->g->values[value].producer;
  const clarke_step *p = step != CLARKE_NONE ? &ids->g->steps[step] : NULL;
  clarke_identity patch;
  clarke_key k = {.ids = ids};

  if (p == NULL || p->kind != CLARKE_DENSE || p->node != s->node)
    return clarke_identity_of(ids, value, f, j);
  clarke_identities_known(ids, value);
  patch = ids->failed ? CLARKE_IDENTITY_ZERO
                      : patch_of(ids, p, f / p->dense.repeat / p->dense.outer, f % p->dense.repeat, j);
  if (patch == CLARKE_IDENTITY_ZERO)
    return patch;
  k = product_key(ids, p, f, j, patch);
  return clarke_key_intern(&k, clarke_identity_is_constant(patch));
}

static clarke_identity
of_sum(clarke_identities *ids, const clarke_step *s, size_t f, size_t j)
{
  clarke_key k = clarke_key_begin(ids, BY_STRUCTURE, s->out);
  bool constant = true, zero = true;

  for (size_t i = 0; i < s->n_in; i++) {
    const clarke_operand *o = &s->in[i];
    size_t from = clarke_operand_entry(o, f);
    bool there = from != CLARKE_NONE;

    if (ids->g->values[o->value].constant) {
      clarke_key_put(&k, there ? clarke_coefficient(ids->g, o->value, from) : LEFT_OUT);
      constant = constant && !(there && clarke_value_is_wrt(ids->g, o->value));
      zero = zero && !there;
    } else {
      clarke_identity id = there ? of_operand(ids, s, o->value, from, j) : CLARKE_IDENTITY_ZERO;

      clarke_key_put(&k, id);
      constant = constant && clarke_identity_is_constant(id);
      zero = zero && id == CLARKE_IDENTITY_ZERO;
    }
  }
  if (zero) {
    free(k.word);
    return CLARKE_IDENTITY_ZERO;
  }
  return clarke_key_settle(&k, constant, s->out, f * ids->n + j);
}

/* Strictly inside a piece that is a number near w? PRelu's left one is when its slope is 0 for good. */
static bool
on_constant_piece(const clarke_graph *g, const clarke_pieces *p, clarke_branch code, size_t slope)
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
  clarke_branch code = ids->piece[s - ids->g->steps][f * ids->n + j];
  bool number = on_constant_piece(ids->g, p, code, slope), moves, constant;
  clarke_identity x;
  clarke_key k = {.ids = ids};

  if (number && mpq_sgn(p->coef[code][0]) == 0)
    return CLARKE_IDENTITY_ZERO;
  x = number ? (clarke_identity)code : clarke_identity_of(ids, s->in[0].value, f, j);
  moves = code <= 0 && x != CLARKE_IDENTITY_ZERO && p->slope != CLARKE_NONE &&
          clarke_value_is_wrt(ids->g, p->slope);
  constant = number || (clarke_identity_is_constant(x) && !moves);
  k = clarke_key_begin(ids, BY_STRUCTURE, s->out);
  clarke_key_put(&k, x);
  clarke_key_put(&k, number);
  if (p->slope != CLARKE_NONE)
    clarke_key_put(&k, clarke_coefficient(ids->g, p->slope, slope));
  return clarke_key_settle(&k, constant, s->out, f * ids->n + j);
}

/* Is the group known by what its places are? Else by itself: few large groups are alike, and to ask takes long. */
static bool
is_line(const clarke_grouping *o)
{
  return !o->couples && o->blocks * o->length <= LINE_NAMED;
}

/* A group of a NORMALIZE step: zero when all of its entries are one function, which is then its own mean;
 * constant when they all are. */
static clarke_identity
group_of(clarke_identities *ids, const clarke_step *s, size_t group, size_t j)
{
  const clarke_grouping *o = &s->grouping;
  const bool line = is_line(o);
  size_t from = o->couples ? 0 : j, to = o->couples ? ids->n : j + 1;
  clarke_identity *known = &ids->patch[s - ids->g->steps][group * ids->n + from], first = 0;
  bool one = true, constant = true;
  clarke_key k = {.ids = ids};

  if (*known != 0)
    return *known;
  k = clarke_key_begin(ids, BY_PLACE, s->out);
  for (size_t i = 0; i < o->blocks * o->length && (line || one || constant); i++)
    for (size_t c = from; c < to && (line || one || constant); c++) {
      clarke_identity id = clarke_identity_of(ids, s->in[0].value, (i / o->length * o->groups + group) * o->length + i % o->length, c);

      first = first == 0 ? id : first;
      one = one && id == first && id != 0;
      constant = constant && clarke_identity_is_constant(id);
      if (line)
        clarke_key_put(&k, id);
    }
  if (one) {
    free(k.word);
    return *known = CLARKE_IDENTITY_ZERO;
  }
  if (!line) {
    clarke_key_put(&k, group);
    clarke_key_put(&k, from);
  }
  return *known = clarke_key_intern(&k, constant);
}

/* Entries of one group, or of identical lines, whose arguments are identical are: they lose one mean, and are divided by one
 * deviation. */
static clarke_identity
of_normalize(clarke_identities *ids, const clarke_step *s, size_t f, size_t j)
{
  clarke_identity group = group_of(ids, s, clarke_step_group(s, f), j);
  clarke_key k = {.ids = ids};

  if (group == CLARKE_IDENTITY_ZERO)
    return group;
  k = clarke_key_begin(ids, BY_STRUCTURE, s->out);
  clarke_key_put(&k, group);
  clarke_key_put(&k, clarke_identity_of(ids, s->in[0].value, f, j));
  return clarke_key_settle(&k, clarke_identity_is_constant(group), s->out, f * ids->n + j);
}

/* By its pairs of factors, of which those with a zero are left out. */
static clarke_identity
of_product(clarke_identities *ids, const clarke_step *s, size_t f, size_t j)
{
  clarke_key k = clarke_key_begin(ids, BY_STRUCTURE, s->out);
  bool constant = true, zero = true;

  for (size_t i = 0; i < s->contraction.inner; i++) {
    const clarke_identity a = clarke_identity_of(ids, s->in[0].value, clarke_step_factor(s, 0, f, i), j);
    const clarke_identity c = clarke_identity_of(ids, s->in[1].value, clarke_step_factor(s, 1, f, i), j);
    const bool nothing = a == CLARKE_IDENTITY_ZERO || c == CLARKE_IDENTITY_ZERO;

    clarke_key_put(&k, nothing ? CLARKE_IDENTITY_ZERO : a);
    clarke_key_put(&k, nothing ? CLARKE_IDENTITY_ZERO : c);
    constant = constant && (nothing || (clarke_identity_is_constant(a) && clarke_identity_is_constant(c)));
    zero = zero && nothing;
  }
  if (zero) {
    free(k.word);
    return CLARKE_IDENTITY_ZERO;
  }
  return clarke_key_settle(&k, constant, s->out, f * ids->n + j);
}

/* One function has one value at identical arguments, whatever they are. */
static clarke_identity
of_analytic(clarke_identities *ids, const clarke_step *s, size_t f, size_t j)
{
  clarke_identity x = clarke_identity_of(ids, s->in[0].value, f, j);
  clarke_key k = clarke_key_begin(ids, BY_STRUCTURE, s->out);

  clarke_key_put(&k, x);
  return clarke_key_settle(&k, clarke_step_jumps(s) || clarke_identity_is_constant(x), s->out, f * ids->n + j);
}

/* A line of a SOFTMAX step: what its places are. */
static clarke_identity
line_of(clarke_identities *ids, const clarke_step *s, size_t line, size_t j)
{
  clarke_identity *known = &ids->patch[s - ids->g->steps][line * ids->n + j];
  size_t first = line / s->stride * s->stride * s->length + line % s->stride;
  bool constant = true;
  clarke_key k = {.ids = ids};

  if (*known != 0)
    return *known;
  k = clarke_key_begin(ids, BY_PLACE, s->out);
  for (size_t l = 0; l < s->length; l++) {
    clarke_identity id = clarke_identity_of(ids, s->in[0].value, first + l * s->stride, j);

    clarke_key_put(&k, id);
    constant = constant && clarke_identity_is_constant(id);
  }
  return *known = clarke_key_intern(&k, constant);
}

/* Entries of identical lines at identical arguments are identical. One that is alone in its line is 1, or its logarithm. */
static clarke_identity
of_softmax(clarke_identities *ids, const clarke_step *s, size_t f, size_t j)
{
  size_t line = f / (s->stride * s->length) * s->stride + f % s->stride;
  clarke_identity all = s->length > 1 ? line_of(ids, s, line, j) : CLARKE_IDENTITY_ZERO;
  clarke_key k = {.ids = ids};

  if (s->length == 1 && s->log)
    return all;
  k = clarke_key_begin(ids, BY_STRUCTURE, s->out);
  if (s->length == 1)
    return clarke_key_settle(&k, true, s->out, f * ids->n + j);
  clarke_key_put(&k, all);
  clarke_key_put(&k, clarke_identity_of(ids, s->in[0].value, f, j));
  return clarke_key_settle(&k, clarke_identity_is_constant(all), s->out, f * ids->n + j);
}

/* Entries of a GATHER are copies, and those of a MAX that is none are touched. */
static clarke_identity (*const of_kind[CLARKE_STEP_KINDS])(clarke_identities *ids, const clarke_step *s, size_t f, size_t j) = {
  [CLARKE_SUM] = of_sum, [CLARKE_SCALE] = of_scale, [CLARKE_DENSE] = of_dense, [CLARKE_PIECEWISE] = of_piecewise,
  [CLARKE_NORMALIZE] = of_normalize, [CLARKE_ANALYTIC] = of_analytic, [CLARKE_SOFTMAX] = of_softmax,
  [CLARKE_PRODUCT] = of_product,
};

clarke_identity
clarke_identity_of_step(clarke_identities *ids, const clarke_step *s, size_t value, size_t f, size_t j)
{
  return of_kind[s->kind] != NULL ? of_kind[s->kind](ids, s, f, j) : clarke_identity_alone(ids, value, f * ids->n + j);
}
