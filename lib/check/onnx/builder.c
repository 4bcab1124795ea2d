/* Values and their shapes; steps, their rows of factors and sources; attributes. */
#include "check/onnx/builder.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"

#include <string.h>

size_t
product(const size_t *dims, size_t n)
{
  size_t p = 1;
  for (size_t i = 0; i < n; i++)
    expect(!__builtin_mul_overflow(p, dims[i], &p), "a shape of too many entries");
  return p;
}

/* Counts n times `each` entries of activations or tables, before there is room for them. */
static void
count_entries(const builder *b, size_t n, size_t each)
{
  size_t *all = &b->net->entries;
  bool huge = __builtin_mul_overflow(n, each, &n) || __builtin_add_overflow(*all, n, all);
  within(LIMIT_ENTRIES, huge ? NONE : *all, "node %zu: with it there are more entries", b->place);
}

size_t *
index_map(const builder *b, size_t rank, const size_t *dims, const size_t *stride, const size_t *base)
{
  size_t n = product(dims, rank);
  count_entries(b, n, 1);
  size_t *map = allocate(n, sizeof *map);
  for (size_t f = 0; f < n; f++) {
    size_t at = 0, rest = f;
    for (size_t i = rank; i-- > 0; rest /= dims[i])
      at += rest % dims[i] * stride[i];
    map[f] = base != NULL ? base[at] : at;
  }
  return map;
}

bool
is_batch(const builder *b, const value *v)
{
  return b->net->batched && v->constant == NULL && !v->shared;
}

void
put(builder *b, tensor *t, size_t s, size_t *map, size_t rank, const size_t *dims)
{
  b->out = (value){
      NULL,         false, t,     s, map, rank, {0}, product(dims, rank), 0, 0, NULL, NULL, t == NULL && b->shared,
      HOLDS_FLOATS, false, false, 0};
  if (rank > 0)
    memcpy(b->out.dims, dims, rank * sizeof *dims);
  if (map == NULL)
    b->out.map = index_map(b, 1, &b->out.count, &(size_t){1}, NULL);
}

bool
on_batch(const builder *b, const value *v, size_t axis)
{
  return is_batch(b, v) && v->at == axis;
}

void
whole_run(const builder *b, const value *v, size_t *dims)
{
  memcpy(dims, v->dims, v->rank * sizeof *dims);
  if (is_batch(b, v))
    dims[v->at] *= b->net->together;
}

bool
has_input(const builder *b, size_t i)
{
  return i < b->node->n_in && b->in[i].name != NULL;
}

size_t
run_axes(const builder *b, size_t i, size_t *dims)
{
  if (!has_input(b, i))
    return 0;
  whole_run(b, &b->in[i], dims);
  return b->in[i].rank;
}

/* Where v's batch is among `rank` axes, and whether the other agrees. */
static void
agree(const builder *b, const value *v, const value *w, size_t rank)
{
  size_t at = v->at + rank - v->rank, first = rank - w->rank;
  if (!is_batch(b, v))
    return;
  need(!is_batch(b, w) || (w->at + first == at && w->inner == v->inner), "the inputs have the batch on different axes");
  need(is_batch(b, w) || at < first || w->dims[at - first] == 1 || (v->inner > 0 && b->net->together == 1),
       "a constant, or what is computed of constants, has more than one entry along the batch axis");
}

void
put_batch(builder *b, const value *v, const value *w, size_t rank)
{
  const value *of = is_batch(b, v) ? v : w;
  b->out.at = is_batch(b, of) ? of->at + rank - of->rank : 0;
  b->out.inner = is_batch(b, of) ? of->inner : 0;
}

const value *
find(const builder *b, const char *name)
{
  return network_value(b->net, name);
}

void
define(builder *b, const char *name)
{
  network *net = b->net;
  expect(name_add(&net->named, name), "two values are named '%s'", name);
  net->values = grow(net->values, net->n_values, sizeof *net->values);
  b->out.name = name;
  net->values[net->n_values++] = b->out;
}

void
add_rows(const builder *b, step *s, size_t width, size_t factors, size_t sources)
{
  size_t *all = &b->net->products, each;
  bool huge = __builtin_mul_overflow(s->n, b->net->batch, &each) || __builtin_mul_overflow(each, width, &each)
              || __builtin_add_overflow(*all, each, all);
  within(LIMIT_PRODUCTS, huge ? NONE : *all, "node %zu: with it one pass has more products", b->place);
  count_entries(b, factors, width);
  count_entries(b, sources, width);
  s->width = width;
  s->n_factors = factors * width;
  s->n_sources = sources * width;
  s->factors = allocate(s->n_factors, sizeof *s->factors);
  s->factor_row = allocate(s->n, sizeof(size_t));
  s->sources = allocate(s->n_sources, sizeof *s->sources);
  s->source_row = allocate(s->n, sizeof(size_t));
  for (size_t i = 0; i < s->n_factors; i++)
    s->factors[i].coef = &plus_one;
  for (size_t i = 0; i < s->n_sources; i++)
    s->sources[i].step = NONE;
  for (size_t f = 0; f < s->n; f++) {
    s->factor_row[f] = factors == s->n ? f : 0;
    s->source_row[f] = sources == s->n ? f : 0;
  }
}

step *
add_step(builder *b, kind k, size_t width, size_t rank, const size_t *dims)
{
  network *net = b->net;
  count_entries(b, product(dims, rank), net->batch);
  net->steps = grow(net->steps, net->n_steps, sizeof *net->steps);
  put(b, NULL, net->n_steps, NULL, rank, dims);
  expect(b->out.count > 0, "an activation without entries");
  step *s = &net->steps[net->n_steps++];
  *s = (step){.kind = k, .node = b->node, .place = b->place, .n = b->out.count};
  if (b->node != NULL) {
    s->op = b->node->op;
    s->outer = b->of != NULL ? b->of : s->op;
    s->name = b->node->name;
  }
  add_rows(b, s, width, s->n, s->n);
  for (size_t i = 0; i < 2; i++)
    s->at[i] = rational_zero();
  for (size_t i = 0; i < 9; i++)
    s->piece[i / 3][i % 3] = rational_zero();
  return s;
}

char
odd_entry(const value *v, size_t i)
{
  return v->constant != NULL && v->constant->odd != NULL ? v->constant->odd[v->map[i]] : 0;
}

bool
is_odd(const value *v)
{
  bool odd = false;
  for (size_t i = 0; v->constant != NULL && v->constant->odd != NULL && i < v->count; i++)
    odd = odd || odd_entry(v, i) != 0;
  return odd;
}

factor *
factor_of(const builder *b, factor *t, const value *v, size_t i)
{
  need(v->constant->real, "an operand must be a constant of floats");
  need(t->w == NULL, "at least one operand must be an activation");
  need(odd_entry(v, i) == 0, "an operand is infinite or NaN");
  v->constant->weight = v->constant->initializer;
  t->w = v->constant;
  t->at = v->map[i];
  return t;
}

factor *
operand(const builder *b, step *s, size_t t, const value *v, size_t i)
{
  if (v->constant != NULL)
    return factor_of(b, &s->factors[t], v, i);
  need(s->sources[t].step == NONE, "one operand must be a constant");
  s->sources[t] = (source){v->step, v->map[i]};
  return &s->factors[t];
}

void
factor_source(const builder *b, step *s, size_t t, const value *v, size_t i)
{
  need(v->constant == NULL, "an operand must be an activation");
  s->sources[t] = (source){v->step, v->map[i]};
}

step *
add_function(builder *b, kind k, const value *x)
{
  need(x->constant == NULL, "its input must be an activation");
  step *s = add_step(b, k, 1, x->rank, x->dims);
  for (size_t f = 0; f < s->n; f++)
    operand(b, s, f, x, f);
  return s;
}

void
put_function(builder *b, function f, const value *x)
{
  add_function(b, FUNCTION, x)->of = f;
  b->out.shared = x->shared;
  b->out.at = x->at;
  b->out.inner = x->inner;
}

void
put_products(builder *b, const value *v, const value *w, size_t rank, const size_t *dims)
{
  step *s = add_step(b, PRODUCT, 2, rank, dims);
  for (size_t f = 0; f < s->n; f++) {
    factor_source(b, s, 2 * f, v, f);
    factor_source(b, s, 2 * f + 1, w, f);
  }
}

const tensor *
find_attribute(const builder *b, const char *name)
{
  const tensor *t = NULL;
  for (size_t i = b->node->n_attributes; i-- > 0;)
    if (strcmp(b->node->attributes[i].name, name) == 0)
      t = &b->node->attributes[i];
  need(t == NULL || t->value != NULL, "an attribute is not of the right type");
  return t;
}

long
whole_entry(const builder *b, const tensor *t, size_t i)
{
  need(i < t->count && !t->real && mpz_fits_slong_p(mpq_numref(&t->value[i])), "an integer is missing or too large");
  return mpz_get_si(mpq_numref(&t->value[i]));
}

long
whole_attribute(const builder *b, const char *name, long absent)
{
  const tensor *t = find_attribute(b, name);
  return t != NULL ? whole_entry(b, t, 0) : absent;
}

bool
real_attribute(const builder *b, const char *name, rational *q, float absent)
{
  const tensor *t = find_attribute(b, name);
  need(t == NULL || (t->real && t->count == 1), "an attribute is not of the right type");
  mpq_set_d(q, absent);
  if (t != NULL)
    mpq_set(q, t->value);
  else if (mpz_cmp_ui(mpq_denref(q), 2) > 0)
    b->net->read[DEFAULTS] = true;
  return t != NULL;
}

const char *
text_attribute(const builder *b, const char *name, const char *absent)
{
  for (size_t i = 0; i < b->node->n_attributes; i++) {
    const tensor *t = &b->node->attributes[i];
    need(strcmp(t->name, name) != 0 || t->text != NULL, "an attribute is not of the right type");
    if (t->text != NULL && strcmp(t->name, name) == 0)
      absent = t->text;
  }
  return absent;
}

size_t
axis_of(const builder *b, long axis, size_t rank)
{
  axis += axis < 0 ? (long)rank : 0;
  need(axis >= 0 && (size_t)axis < rank, "an axis is out of range");
  return (size_t)axis;
}

void
mark_axes(const builder *b, const long *axes, size_t count, size_t rank, bool *over)
{
  for (size_t i = 0; i < count; i++) {
    size_t axis = axis_of(b, axes[i], rank);
    need(!over[axis], "an axis twice");
    over[axis] = true;
  }
}

size_t
split_axes(const builder *b, const value *x, const bool *over, size_t *kept, size_t *gone, size_t *stride, size_t *dims)
{
  long keep = whole_attribute(b, "keepdims", 1);
  size_t n = 0, next = 1;
  need(!is_batch(b, x) || !over[x->at], "the batch axis would be mixed");
  for (size_t i = x->rank; i-- > 0; next *= x->dims[i]) {
    stride[i] = next;
    kept[i] = over[i] ? 1 : x->dims[i];
    gone[i] = over[i] ? x->dims[i] : 1;
  }
  for (size_t i = 0; i < x->rank; i++)
    if (!over[i] || keep != 0)
      dims[n++] = kept[i];
  return n;
}

void
put_split(builder *b, const value *x, const bool *over)
{
  size_t gone = 0;
  for (size_t i = 0; i < x->at && whole_attribute(b, "keepdims", 1) == 0; i++)
    gone += over[i];
  b->out.at = x->at - gone;
  b->out.inner = x->inner;
}

size_t
whole_list_within(const builder *b, size_t i, const char *before, long *list, size_t most)
{
  const tensor *t = b->in[i].name != NULL ? b->in[i].constant : find_attribute(b, before);
  size_t n = b->in[i].name != NULL ? b->in[i].count : t != NULL ? t->count : 0;
  need(t != NULL && !t->real && n <= most, "a constant list of integers is missing or too long");
  for (size_t j = 0; j < n; j++)
    list[j] = whole_entry(b, t, b->in[i].name != NULL ? b->in[i].map[j] : j);
  return n;
}

size_t
whole_list(const builder *b, size_t i, const char *before, long *list)
{
  return whole_list_within(b, i, before, list, MAX_RANK);
}

size_t
broadcast(const builder *b, const value *v, const value *w, size_t *dims)
{
  size_t rank = v->rank > w->rank ? v->rank : w->rank;
  agree(b, v, w, rank);
  agree(b, w, v, rank);
  for (size_t i = 0; i < rank; i++) {
    size_t p = i + v->rank < rank ? 1 : v->dims[i + v->rank - rank];
    size_t q = i + w->rank < rank ? 1 : w->dims[i + w->rank - rank];
    need(p == q || p == 1 || q == 1, "the shapes do not fit");
    dims[i] = p == 1 ? q : p;
  }
  return rank;
}

value
broadcast_all(const builder *b, size_t n)
{
  value all = b->in[0];
  for (size_t i = 1; i < n; i++) {
    const value *x = &b->in[i], *of = is_batch(b, &all) ? &all : x;
    size_t dims[MAX_RANK], rank = broadcast(b, &all, x, dims);
    bool batch = is_batch(b, of), given = all.constant == NULL || x->constant == NULL;
    all.at = batch ? of->at + rank - of->rank : 0;
    all.inner = batch ? of->inner : 0;
    all.shared = b->net->batched && given && !batch;
    all.constant = all.constant != NULL ? x->constant : NULL;
    all.rank = rank;
    memcpy(all.dims, dims, rank * sizeof *dims);
  }
  return all;
}

value
spread(const builder *b, const value *v, size_t rank, const size_t *dims)
{
  size_t stride[MAX_RANK] = {0}, next = 1;
  value wide = *v;
  for (size_t i = v->rank; i-- > 0; next *= v->dims[i])
    stride[i + rank - v->rank] = v->dims[i] == 1 ? 0 : next;
  wide.map = index_map(b, rank, dims, stride, v->map);
  if (v->excluded != NULL) {
    size_t n = product(dims, rank), *own = index_map(b, rank, dims, stride, NULL);
    bool *excluded = allocate(n, sizeof *excluded);
    for (size_t f = 0; f < n; f++)
      excluded[f] = v->excluded[own[f]];
    wide.excluded = excluded;
  }
  wide.at += rank - v->rank; /* it stands for a value of that rank */
  wide.rank = rank;
  return wide;
}

bool
make_shared(const builder *b, value *v, size_t axis)
{
  size_t rows = b->net->together, stride[MAX_RANK], next = 1;
  if (axis >= v->rank || v->dims[axis] != rows)
    return false;
  size_t behind = product(v->dims + axis + 1, v->rank - axis - 1);
  for (size_t i = 0; i < v->count; i++) {
    size_t one = v->map[i], first = v->map[i / behind / rows * rows * behind + i % behind];
    if (one != first
        && (v->constant->initializer || !v->constant->real
            || (v->constant->odd != NULL && v->constant->odd[one] != v->constant->odd[first])
            || !mpq_equal(&v->constant->value[one], &v->constant->value[first])))
      return false;
  }
  for (size_t i = v->rank; i-- > 0; next *= v->dims[i])
    stride[i] = next;
  v->dims[axis] = 1;
  v->count /= rows;
  v->map = index_map(b, v->rank, v->dims, stride, v->map);
  return true;
}

void
share_constants(builder *b)
{
  size_t n = b->node->n_in, first = 0, rank = 0;
  while (first < n && !is_batch(b, &b->in[first]))
    first++;
  for (size_t i = 0; i < n; i++)
    rank = b->in[i].rank > rank ? b->in[i].rank : rank;
  if (first == n || b->in[first].inner > 0 || b->net->together == 1)
    return;
  for (size_t i = 0; i < n; i++)
    if (b->in[i].constant != NULL && b->in[first].at + b->in[i].rank >= b->in[first].rank)
      make_shared(b, &b->in[i], b->in[first].at + b->in[i].rank - b->in[first].rank);
}

void
note_shared(builder *b)
{
  bool some = false, all = b->net->batched;
  for (size_t i = 0; i < b->node->n_in; i++) {
    bool moves = b->in[i].name != NULL && b->in[i].constant == NULL;
    some = some || moves;
    all = all && (!moves || b->in[i].shared);
  }
  b->shared = some && all;
}

rational *
known_entries(const value *v)
{
  rational *known = v->known;
  if (v->constant == NULL || !v->constant->real || v->negated || is_odd(v))
    return known;
  known = rationals(v->count);
  for (size_t i = 0; i < v->count; i++)
    mpq_set(&known[i], &v->constant->value[v->map[i]]);
  return known;
}

void
lift_entry(const builder *b, step *s, size_t f, const value *v, size_t i)
{
  factor *t = operand(b, s, f, v, i);
  if (v->negated)
    t->coef = &minus_one;
}

value
lifted_constant(builder *b, const value *v)
{
  step *s = add_step(b, LINEAR, 1, v->rank, v->dims);
  for (size_t f = 0; f < s->n; f++)
    lift_entry(b, s, f, v, f);
  value y = b->out;
  y.name = v->name;
  y.shared = b->net->batched;
  return y;
}

void
lift_constant(builder *b)
{
  value x = b->in[0];
  size_t at = 0;
  if (x.name == NULL || x.constant == NULL)
    return;
  need(x.constant->real, "its input must be of floats");
  while (b->net->batched && b->net->together > 1 && at < x.rank && !make_shared(b, &x, at))
    at++;
  bool given = b->net->batched && b->net->together > 1 && at < x.rank;
  b->in[0] = lifted_constant(b, &x);
  b->in[0].at = given ? at : 0;
  b->in[0].shared = b->net->batched && !given;
  b->in[0].known = known_entries(&x);
  note_shared(b);
}

value
spread_over(const builder *b, size_t i, const value *over)
{
  size_t dims[MAX_RANK], rank = broadcast(b, over, &b->in[i], dims);
  need(rank == over->rank && memcmp(dims, over->dims, rank * sizeof *dims) == 0 && !is_batch(b, &b->in[i]),
       "the shapes do not fit, or it is no constant");
  return spread(b, &b->in[i], rank, dims);
}

void
need_rows(const builder *b, const value *x)
{
  need(!is_batch(b, x) || x->at == 0, "the batch is on another axis than the first");
}

value
without_odd(const builder *b, const value *v)
{
  value clean = *v;
  if (!is_odd(v))
    return clean;
  need(!v->negated, "minus what is infinite or NaN");
  tensor *t = allocate(1, sizeof *t);
  *t = (tensor){
      .name = "", .type = v->constant->type, .rank = v->constant->rank, .count = v->constant->count, .real = true};
  memcpy(t->dims, v->constant->dims, sizeof t->dims);
  t->value = v->constant->value; /* 0 at what is no number */
  v->constant->number = true;
  clean.constant = t;
  return clean;
}

bool
exclude(builder *b, step *s, size_t f, const value *v)
{
  char odd = v->excluded != NULL && v->excluded[f] ? (v->undefined ? '?' : '-') : odd_entry(v, f);
  if (odd == 0)
    return false;
  need(odd == '-', "a mask holds infinity or NaN");
  if (b->out.excluded == NULL)
    b->out.excluded = allocate(s->n, sizeof(bool));
  b->out.excluded[f] = true;
  for (size_t i = 0; i < s->width; i++)
    s->sources[f * s->width + i].step = PADDING;
  return true;
}
