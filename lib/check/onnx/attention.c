/* Attention, LinearAttention, RotaryEmbedding (docs/operators.md): heads are views of what has them joined. */
#include "check/onnx/attention.h"
#include "check/base/allocate.h"
#include "check/onnx/inner.h"

#include <string.h>

/* Axes (batch, length, heads size), or of four (batch, heads, length, size), as the latter. */
static value
by_heads(const builder *b, const value *v, size_t heads, size_t size)
{
  bool joined = v->rank == 3;
  size_t length = v->dims[joined ? 1 : 2], all = heads * size;
  need_batch_first(b, v);
  return view(b, v, 0, 4, (size_t[]){v->dims[0], heads, length, size},
              (size_t[]){length * all, joined ? size : length * size, joined ? all : size, 1});
}

/* Each head `times` times, one after another; turned: rows as columns. */
static value
repeated(const builder *b, const value *v, size_t times, bool turned)
{
  const size_t *d = v->dims;
  size_t rows = turned ? d[3] : d[2], columns = turned ? d[2] : d[3], one = d[2] * d[3];
  value y = view(b, v, 0, 5, (size_t[]){d[0], d[1], times, rows, columns},
                 (size_t[]){d[1] * one, one, 0, turned ? 1 : d[3], turned ? d[3] : 1});
  y.rank = 4;
  memcpy(y.dims, (size_t[]){d[0], d[1] * times, rows, columns}, 4 * sizeof *d);
  return y;
}

/* By heads, as (batch, length, heads size). */
static value
rejoined(const builder *b, const value *v)
{
  const size_t *d = v->dims;
  value y = view(b, v, 0, 4, (size_t[]){d[0], d[2], d[1], d[3]}, (size_t[]){d[1] * d[2] * d[3], d[3], d[2] * d[3], 1});
  y.rank = 3;
  memcpy(y.dims, (size_t[]){d[0], d[2], d[1] * d[3]}, 3 * sizeof *d);
  return y;
}

/* The root of n, if it is whole; 0. */
static size_t
whole_root(size_t n)
{
  size_t r = 0;
  while (r < 65536 && r * r < n)
    r++;
  return r * r == n ? r : 0;
}

/* Times the attribute; without one, or by its default where that stands for none, divided by the root of a head's size. */
static value
scaled(builder *b, const value *x, size_t size, bool zero_is_none)
{
  RATIONAL(c);
  if (real_attribute(b, "scale", &c, 0) && !(zero_is_none && mpq_sgn(&c) == 0)) {
    need(zero_is_none || mpq_sgn(&c) > 0, "a scale that is not above 0");
    return times(b, x, &c);
  }
  size_t root = whole_root(size);
  if (root == 0)
    return over_root(b, x, size);
  mpq_set_ui(&c, 1, root);
  return times(b, x, &c);
}

enum { QUERY, KEY, VALUE, MASK, PAST_KEY, PAST_VALUE, LENGTHS };

typedef struct {
  bool joined, causal;
  size_t batch, heads, kv_heads, queries, keys, past, size, value_size;
  long left, right, *lengths;
} attention;

static void
read_shapes(const builder *b, attention *a)
{
  size_t d[3][MAX_RANK], rank = run_axes(b, 0, d[0]);
  need(run_axes(b, 1, d[1]) == rank && run_axes(b, 2, d[2]) == rank && (rank == 3 || rank == 4),
       "Q, K and V do not have 3 or 4 axes");
  a->joined = rank == 3;
  long q = whole_attribute(b, "q_num_heads", 0), kv = whole_attribute(b, "kv_num_heads", 0);
  need(q >= 0 && kv >= 0 && (!a->joined || (q > 0 && kv > 0)), "the numbers of heads are missing");
  need(a->joined || ((q == 0 || (size_t)q == d[0][1]) && (kv == 0 || (size_t)kv == d[1][1])),
       "other numbers of heads than the axes have");
  a->batch = d[0][0];
  a->heads = a->joined ? (size_t)q : d[0][1];
  a->kv_heads = a->joined ? (size_t)kv : d[1][1];
  size_t along = a->joined ? 1 : 2, last = rank - 1, part = a->joined ? a->heads : 1,
         kv_part = a->joined ? a->kv_heads : 1;
  need(a->heads > 0 && a->kv_heads > 0 && a->heads % a->kv_heads == 0 && d[1][0] == a->batch && d[2][0] == a->batch
           && (a->joined || d[2][1] == a->kv_heads),
       "the heads or the batches do not fit");
  need(d[0][last] % part == 0 && d[1][last] % kv_part == 0 && d[2][last] % kv_part == 0
           && d[0][last] / part == d[1][last] / kv_part && d[1][along] == d[2][along],
       "sizes or lengths that do not fit");
  a->size = d[0][last] / part;
  a->value_size = d[2][last] / kv_part;
  a->queries = d[0][along];
  a->keys = d[1][along];
  need(a->size > 0 && a->value_size > 0 && a->queries > 0 && a->keys > 0, "no entries");
}

static void
read_past(const builder *b, attention *a)
{
  size_t d[MAX_RANK], e[MAX_RANK];
  need(has_input(b, PAST_KEY) == has_input(b, PAST_VALUE), "a past of one of two");
  if (!has_input(b, PAST_KEY))
    return;
  need(run_axes(b, PAST_KEY, d) == 4 && run_axes(b, PAST_VALUE, e) == 4 && d[0] == a->batch && e[0] == a->batch
           && d[1] == a->kv_heads && e[1] == a->kv_heads && d[2] == e[2] && d[2] > 0 && d[3] == a->size
           && e[3] == a->value_size,
       "a past of other axes");
  a->past = d[2];
  a->keys += a->past;
}

static void
read_window(const builder *b, attention *a)
{
  long causal = whole_attribute(b, "is_causal", 0);
  a->left = whole_attribute(b, "left_window_size", -1);
  a->right = whole_attribute(b, "right_window_size", -1);
  need((causal == 0 || causal == 1) && a->left >= -1 && a->right >= -1 && a->left <= INT32_MAX && a->right <= INT32_MAX,
       "is_causal is not 0 or 1, or a window is below -1");
  a->causal = causal == 1;
  const value *mask = &b->in[MASK];
  need(!a->causal || !has_input(b, MASK) || (mask->rank > 1 && (mask->dims[mask->rank - 2] != 1 || a->queries == 1)),
       "is_causal with a mask of one row for several queries, which is read in two ways");
  if (!has_input(b, LENGTHS))
    return;
  a->lengths = allocate(a->batch, sizeof *a->lengths);
  need(whole_list_within(b, LENGTHS, "", a->lengths, a->batch) == a->batch && b->in[LENGTHS].rank == 1 && a->past == 0,
       "not a length for each sample, or a past");
  for (size_t i = 0; i < a->batch; i++)
    need(a->lengths[i] >= 0 && (size_t)a->lengths[i] <= a->keys, "a length of more keys than there are");
}

/* Does the query stand where it may see the key? */
static bool
sees(const attention *a, size_t sample, size_t query, size_t key)
{
  long at = (long)query + (long)a->past, k = (long)key;
  if (a->lengths != NULL)
    at = (long)query + a->lengths[sample] - (long)a->queries;
  bool future = a->causal && k > at, before = a->left >= 0 && k < at - a->left,
       behind = a->right >= 0 && k > at + a->right;
  return !future && !before && !behind && (a->lengths == NULL || k < a->lengths[sample]);
}

/* A mask's entry for each score, which has these axes: NONE where its last axis, the keys', ends before. */
static size_t *
mask_places(const builder *b, const value *mask, const size_t *d)
{
  size_t n = product(d, 4), *at = allocate(n, sizeof *at), r = mask->rank;
  need(r >= 1 && r <= 4, "a mask of no axes, or of more than four");
  size_t own = mask->dims[r - 1];
  need(own > 0 && (own == d[3] || (own < d[3] && own > 1 && b->opset >= 24)), "a mask of another number of keys");
  for (size_t i = 0; i + 1 < r; i++)
    need(mask->dims[i] == 1 || mask->dims[i] == d[4 - r + i], "a mask of other axes");
  for (size_t f = 0; f < n; f++) {
    size_t rest = f / d[3], next = own;
    at[f] = f % d[3];
    bool ends = at[f] >= own;
    for (size_t i = 3; i-- > 0; rest /= d[i]) {
      size_t k = i + r < 4 ? 0 : mask->dims[i + r - 4];
      at[f] += k > 1 ? rest % d[i] * next : 0;
      next *= k > 0 ? k : 1;
    }
    at[f] = ends ? NONE : at[f];
  }
  return at;
}

/* The scores plus a mask of activations, which broadcasts to them: they do not to it. */
static value
with_activations(builder *b, const attention *a, const value *x, const value *mask)
{
  size_t d[MAX_RANK], all[4] = {a->batch, a->heads, a->queries, a->keys}, r = mask->rank;
  need(mask->holds == HOLDS_FLOATS, "a mask of truth values that are computed of activations");
  whole_run(b, mask, d);
  need(r >= 1 && r <= 4 && d[r - 1] == a->keys, "a mask of activations, of another number of keys or of axes");
  for (size_t i = 0; i + 1 < r; i++)
    need(d[i] == 1 || d[i] == all[4 - r + i], "a mask of other axes");
  value y = inner_of(b, "Add", x, mask);
  need(memcmp(y.dims, x->dims, 4 * sizeof *d) == 0, "a mask of other axes");
  return y;
}

/* The scores plus a mask of numbers, without those that a query does not see: of these nothing is left behind the softmax. */
static value
masked(builder *b, const attention *a, value x)
{
  const value *mask = has_input(b, MASK) ? &b->in[MASK] : NULL;
  bool numbers = mask != NULL && mask->constant != NULL && mask->constant->real;
  need_batch_first(b, &x);
  for (size_t i = 1; i < a->batch && is_batch(b, &x) && a->lengths != NULL; i++)
    need(a->lengths[i] == a->lengths[0], "each sample has another length");
  if (mask != NULL && mask->constant == NULL) {
    x = with_activations(b, a, &x, mask);
    mask = NULL;
  }
  need(mask == NULL || numbers || mask->constant->type == BOOL, "a mask of integers");
  size_t *at = mask != NULL ? mask_places(b, mask, x.dims) : NULL;
  value clean = numbers ? without_odd(b, mask) : x;
  step *s = add_step(b, LINEAR, 1 + numbers, x.rank, x.dims);
  for (size_t f = 0; f < s->n; f++) {
    size_t key = f % a->keys, query = f / a->keys % a->queries, sample = f / a->keys / a->queries / a->heads;
    char odd = numbers && at[f] != NONE ? odd_entry(mask, at[f]) : 0;
    need(odd == 0 || odd == '-', "a mask holds infinity or NaN");
    bool seen = sees(a, sample, query, key) && (at == NULL || at[f] != NONE) && odd == 0;
    if (seen && at != NULL && !numbers)
      seen = mpq_sgn(&mask->constant->value[mask->map[at[f]]]) != 0;
    operand(b, s, f * s->width, &x, f);
    if (numbers && at[f] != NONE && odd == 0)
      operand(b, s, f * s->width + 1, &clean, at[f]);
    if (seen)
      continue;
    if (b->out.excluded == NULL)
      b->out.excluded = allocate(s->n, sizeof(bool));
    b->out.excluded[f] = true;
    for (size_t i = 0; i < s->width; i++)
      s->sources[f * s->width + i].step = PADDING;
  }
  value y = b->out;
  y.name = "";
  y.at = x.at;
  y.inner = x.inner;
  y.shared = x.shared;
  return y;
}

static value
capped(builder *b, value x)
{
  RATIONAL(cap);
  RATIONAL(share);
  real_attribute(b, "softcap", &cap, 0);
  need(mpq_sgn(&cap) >= 0, "a softcap below 0");
  if (mpq_sgn(&cap) == 0)
    return x;
  mpq_inv(&share, &cap);
  x = times(b, &x, &share);
  x = inner_of(b, "Tanh", &x, NULL);
  return times(b, &x, &cap);
}

void
lower_attention(builder *b)
{
  attention a = {0};
  lift_alone(b);
  read_shapes(b, &a);
  read_past(b, &a);
  read_window(b, &a);
  long mode = whole_attribute(b, "qk_matmul_output_mode", 0);
  need(mode >= 0 && mode <= 3, "an unknown mode");
  bool told = b->node->n_out > 3 && *b->node->out[3] != '\0';
  need(mode != 0 || !told || find_attribute(b, "softcap") == NULL || mpq_sgn(find_attribute(b, "softcap")->value) == 0,
       "scores of mode 0 with a softcap, which are read in two ways");
  size_t shared = a.heads / a.kv_heads;
  value q = by_heads(b, &b->in[QUERY], a.heads, a.size), k = by_heads(b, &b->in[KEY], a.kv_heads, a.size);
  value v = by_heads(b, &b->in[VALUE], a.kv_heads, a.value_size), scores[4];
  if (a.past > 0) {
    k = inner_joined(b, &b->in[PAST_KEY], &k, 2);
    v = inner_joined(b, &b->in[PAST_VALUE], &v, 2);
  }
  value turned = repeated(b, &k, shared, true), values = repeated(b, &v, shared, false);
  scores[0] = inner_of(b, "MatMul", &q, &turned);
  scores[0] = scaled(b, &scores[0], a.size, false);
  scores[1] = capped(b, scores[0]);
  scores[2] = masked(b, &a, scores[1]);
  scores[3] = inner_of(b, "Softmax", &scores[2], NULL);
  value y = inner_of(b, "MatMul", &scores[3], &values);
  b->out = a.joined ? rejoined(b, &y) : y;
  give_output(b, 1, k);
  give_output(b, 2, v);
  give_output(b, 3, scores[mode]);
}

/* ---- LinearAttention */

typedef struct {
  size_t heads, kv_heads, times, size, value_size;
  bool gated, delta;
  value q, k, v, decay, beta; /* by heads */
} recurrence;

static bool
is_rule(const char *rule, const char *one, const char *other)
{
  return strcmp(rule, one) == 0 || strcmp(rule, other) == 0;
}

static void
read_recurrence(builder *b, recurrence *r)
{
  const char *rule = text_attribute(b, "update_rule", "gated_delta");
  long heads = whole_attribute(b, "q_num_heads", 0), kv = whole_attribute(b, "kv_num_heads", 0);
  size_t d[6][MAX_RANK], n[6];
  for (size_t i = 0; i < 6; i++)
    n[i] = run_axes(b, i, d[i]);
  r->gated = is_rule(rule, "gated", "gated_delta");
  r->delta = is_rule(rule, "delta", "gated_delta");
  need(r->gated || r->delta || strcmp(rule, "linear") == 0, "an unknown rule");
  need(has_input(b, 4) == r->gated && has_input(b, 5) == r->delta,
       "inputs that the rule does not have, or none that it wants");
  need(heads > 0 && kv > 0 && heads % kv == 0 && n[0] == 3 && n[1] == 3 && n[2] == 3,
       "heads, or axes, that do not fit");
  r->heads = (size_t)heads;
  r->kv_heads = (size_t)kv;
  r->times = d[0][1];
  need(r->times > 0 && r->times <= 1024, "no times, or more than 1024");
  r->size = d[0][2] / r->heads;
  r->value_size = d[2][2] / r->kv_heads;
  need(r->size > 0 && r->value_size > 0 && d[0][2] == r->heads * r->size && d[1][2] == r->kv_heads * r->size
           && d[2][2] == r->kv_heads * r->value_size,
       "sizes that do not fit");
  for (size_t i = 1; i < 6; i++)
    need(i == 3 || n[i] == 0 || (n[i] == 3 && d[i][0] == d[0][0] && d[i][1] == r->times),
         "batches or times that do not fit");
  need(n[3] == 0
           || (n[3] == 4 && d[3][0] == d[0][0] && d[3][1] == r->kv_heads && d[3][2] == r->size
               && d[3][3] == r->value_size),
       "a past state of other axes");
  r->q = by_heads(b, &b->in[0], r->heads, r->size);
  r->k = by_heads(b, &b->in[1], r->kv_heads, r->size);
  r->v = by_heads(b, &b->in[2], r->kv_heads, r->value_size);
  if (r->gated) {
    need(d[4][2] == r->kv_heads || d[4][2] == r->kv_heads * r->size, "a decay of another size");
    r->decay = by_heads(b, &b->in[4], r->kv_heads, d[4][2] / r->kv_heads);
    r->decay = inner_of(b, "Exp", &r->decay, NULL);
  }
  if (r->delta) {
    need(d[5][2] == r->kv_heads || d[5][2] == 1, "a beta of another size");
    r->beta = by_heads(b, &b->in[5], d[5][2], 1);
  }
}

/* What it is at a time: (batch, heads, 1, size), or that turned. */
static value
at_time(const builder *b, const value *v, size_t time, bool turned)
{
  const size_t *d = v->dims;
  size_t dims[4] = {d[0], d[1], 1, d[3]}, stride[4] = {d[1] * d[2] * d[3], d[2] * d[3], 0, 1};
  size_t last = turned ? 2 : 3;
  dims[last] = d[3];
  dims[5 - last] = 1;
  stride[last] = 1;
  stride[5 - last] = 0;
  return view(b, v, time * d[3], 4, dims, stride);
}

static value
next_state(builder *b, const recurrence *r, const value *state, size_t time)
{
  value v = at_time(b, &r->v, time, false), column = at_time(b, &r->k, time, true), old = {0};
  if (state != NULL) {
    old = *state;
    if (r->gated) {
      value decay = at_time(b, &r->decay, time, true);
      old = inner_of(b, "Mul", &old, &decay);
    }
    if (r->delta) {
      value row = at_time(b, &r->k, time, false), known = inner_of(b, "MatMul", &row, &old);
      v = inner_of(b, "Sub", &v, &known);
    }
  }
  if (r->delta) {
    value beta = at_time(b, &r->beta, time, false);
    v = inner_of(b, "Mul", &v, &beta);
  }
  value new = inner_of(b, "MatMul", &column, &v);
  return state != NULL ? inner_of(b, "Add", &old, &new) : new;
}

void
lower_linear_attention(builder *b)
{
  recurrence r = {0};
  lift_alone(b);
  read_recurrence(b, &r);
  value state = b->in[3], *read = allocate(r.times, sizeof *read);
  for (size_t t = 0; t < r.times; t++) {
    state = next_state(b, &r, t > 0 || has_input(b, 3) ? &state : NULL, t);
    value q = at_time(b, &r.q, t, false), wide = repeated(b, &state, r.heads / r.kv_heads, false);
    read[t] = inner_of(b, "MatMul", &q, &wide);
    need(read[t].dims[0] == read[0].dims[0] && read[t].shared == read[0].shared,
         "what is read is of all samples at one time, and of each at another");
  }
  size_t samples = read[0].dims[0], all = r.heads * r.value_size;
  step *s = add_step(b, LINEAR, 1, 3, (size_t[]){samples, r.times, all});
  for (size_t f = 0; f < s->n; f++)
    operand(b, s, f, &read[f / all % r.times], f / all / r.times * all + f % all);
  value y = b->out;
  y.shared = read[0].shared;
  b->out = scaled(b, &y, r.size, true);
  give_output(b, 1, state);
}

/* ---- RotaryEmbedding */

typedef struct {
  bool joined, paired;
  size_t batch, heads, length, size, turned;
} rotation;

static void
read_rotation(const builder *b, rotation *r)
{
  size_t d[MAX_RANK], rank = run_axes(b, 0, d);
  long heads = whole_attribute(b, "num_heads", 0), turned = whole_attribute(b, "rotary_embedding_dim", 0);
  need(rank == 3 || rank == 4, "an input of other than three or four axes");
  r->joined = rank == 3;
  need(r->joined ? heads > 0 && d[2] % (size_t)heads == 0 : heads == 0 || (size_t)heads == d[1],
       "a number of heads that does not fit");
  r->batch = d[0];
  r->heads = r->joined ? (size_t)heads : d[1];
  r->length = r->joined ? d[1] : d[2];
  r->size = r->joined ? d[2] / r->heads : d[3];
  need(turned >= 0 && (size_t)turned <= r->size, "more entries are turned than there are");
  r->turned = turned == 0 ? r->size : (size_t)turned;
  need(r->turned % 2 == 0 && r->turned > 0, "an odd number of entries is turned, or none");
  r->paired = whole_attribute(b, "interleaved", 0) != 0;
}

/* Cosines or sines, input i, as (batch or 1, length, pairs). */
static value
angles(builder *b, const rotation *r, size_t i)
{
  value v = b->in[i];
  size_t pairs = r->turned / 2, dims[3] = {1, r->length, pairs}, n = r->batch * r->length, *base;
  if (!has_input(b, 3)) {
    need_batch_first(b, &v);
    size_t d[MAX_RANK];
    need(run_axes(b, i, d) == 3 && d[0] == r->batch && d[1] == r->length && d[2] == pairs, "angles of other axes");
    if (v.constant != NULL && is_batch(b, &b->in[0]))
      make_shared(b, &v, 0);
    return v;
  }
  long *place = allocate(n, sizeof *place);
  const value *places = &b->in[3];
  need(whole_list_within(b, 3, "", place, n) == n && places->rank == 2 && places->dims[0] == r->batch
           && places->dims[1] == r->length,
       "not a place for each entry of the sequences");
  need((v.constant != NULL ? v.constant->real : !is_batch(b, &v)) && v.rank == 2 && v.dims[1] == pairs,
       "angles that are not of places and pairs, or of each sample");
  for (size_t k = 0; k < n; k++) {
    need(place[k] >= 0 && (size_t)place[k] < v.dims[0], "a place out of range");
    dims[0] = place[k] != place[k % r->length] ? r->batch : dims[0];
  }
  base = allocate(n * pairs, sizeof *base);
  for (size_t k = 0; k < n * pairs; k++)
    base[k] = v.map[(size_t)place[k / pairs] * pairs + k % pairs];
  v.map = base;
  return view(b, &v, 0, 3, dims, (size_t[]){r->length * pairs, pairs, 1});
}

/* Entry f of x, of `samples` samples: which pair's angle it is turned by, among those of `rows` samples; NONE, it is not turned. other:
 * the pair's other entry; first: is it the pair's first? */
static size_t
angle_of(const rotation *r, size_t rows, size_t f, size_t *other, bool *first)
{
  size_t d = f % r->size, outer = f / r->size, half = r->turned / 2, pair = r->paired ? d / 2 : d % half;
  size_t at = r->joined ? outer / r->heads % r->length : outer % r->length;
  size_t sample = outer / r->heads / r->length;
  if (d >= r->turned)
    return NONE;
  *first = r->paired ? d % 2 == 0 : d < half;
  size_t apart = r->paired ? 1 : half;
  *other = *first ? f + apart : f - apart;
  return ((rows > 1 ? sample : 0) * r->length + at) * half + pair;
}

/* All are activations: x times the cosine, plus the other entry, turned in sign for the first of a pair, times the sine. */
static void
turn_by_products(builder *b, const rotation *r, const value *x, const value *cosines, const value *sines)
{
  size_t rows = cosines->dims[0], other = 0;
  bool first = false;
  step *s = add_step(b, LINEAR, 1, x->rank, x->dims);
  for (size_t f = 0; f < s->n; f++) {
    bool turned = angle_of(r, rows, f, &other, &first) != NONE;
    operand(b, s, f, x, turned ? other : f)->coef = turned && first ? &minus_one : &plus_one;
  }
  value others = b->out;
  size_t n = x->count / r->size * r->turned, k = 0;
  s = add_step(b, PRODUCT, 4, 1, &n);
  for (size_t f = 0; f < x->count; f++) {
    size_t at = angle_of(r, rows, f, &other, &first);
    if (at == NONE)
      continue;
    factor_source(b, s, 4 * k, x, f);
    factor_source(b, s, 4 * k + 1, cosines, at);
    factor_source(b, s, 4 * k + 2, &others, f);
    factor_source(b, s, 4 * k++ + 3, sines, at);
  }
  value turned = b->out;
  turned.shared = x->shared;
  s = add_step(b, LINEAR, 1, x->rank, x->dims);
  k = 0;
  for (size_t f = 0; f < s->n; f++) {
    bool is = angle_of(r, rows, f, &other, &first) != NONE;
    operand(b, s, f, is ? &turned : x, is ? k++ : f);
  }
}

void
lower_rotary(builder *b)
{
  rotation r;
  lift_constant(b);
  read_rotation(b, &r);
  const value *x = &b->in[0];
  need_batch_first(b, x);
  value angle[2] = {angles(b, &r, 1), angles(b, &r, 2)};
  for (size_t i = 0; i < 2; i++)
    need(angle[i].dims[0] == 1 || (!is_batch(b, x) && !is_batch(b, &angle[i])), "angles of more than one sample");
  if (angle[0].constant == NULL || angle[1].constant == NULL) {
    for (size_t i = 0; i < 2; i++)
      angle[i] = angle[i].constant != NULL ? lifted_constant(b, &angle[i]) : angle[i];
    need(angle[0].dims[0] == angle[1].dims[0], "cosines and sines of other shapes");
    turn_by_products(b, &r, x, &angle[0], &angle[1]);
    b->out.at = b->out.inner = 0; /* of angles of three axes, too, it is the first */
    return;
  }
  step *s = add_step(b, LINEAR, 2, x->rank, x->dims);
  for (size_t f = 0; f < s->n; f++) {
    size_t other = 0;
    bool first = false;
    size_t at[2] = {angle_of(&r, angle[0].dims[0], f, &other, &first),
                    angle_of(&r, angle[1].dims[0], f, &other, &first)};
    operand(b, s, 2 * f, x, f);
    if (at[0] == NONE) {
      s->sources[2 * f + 1].step = PADDING;
      continue;
    }
    operand(b, s, 2 * f, &angle[0], at[0]);
    operand(b, s, 2 * f + 1, x, other);
    operand(b, s, 2 * f + 1, &angle[1], at[1])->coef = first ? &minus_one : &plus_one;
  }
  put_batch(b, x, x, x->rank);
}
