/* Attention: softmax(scale Q K' + mask) V by heads, as the graph of products, sums and a softmax that ONNX states. A query
 * that may see no key has a row of zeros. */
#include "op/attention.h"
#include "op/axes.h"
#include "op/lower.h"
#include "op/masked.h"
#include "op/node.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUERY, KEY, VALUE, MASK, PAST_KEY, PAST_VALUE, LENGTHS };

#define AXES CLARKE_HEAD_AXES

typedef struct {
  bool joined;                   /* three axes, the heads' being one after another along the last */
  size_t batch, heads, kv_heads; /* heads share those of keys and values, so many after one another each */
  size_t queries, past, keys;    /* keys: those of the past among them */
  size_t size, value_size;       /* of a head */
  int64_t left, right;           /* of the window, below 0: none */
  bool causal;
  const int64_t *lengths; /* of each sample, how many keys are none of padding; NULL */
} attention;

/* The shape of inputs 0 to 2: axes (batch, heads, length, size), or (batch, length, heads size). */
static clarke_status
read_shapes(attention *a, const clarke_lowering *low, size_t dims[3][CLARKE_MAX_WHOLE], clarke_error *err)
{
  size_t rank[3], heads[2];

  for (size_t i = 0; i < 3; i++) {
    if (!clarke_lower_has(low, i))
      return clarke_lower_fail(low, err, "input %zu is missing", i);
    rank[i] = clarke_axes_of_run(low, i, dims[i]);
  }
  if (rank[0] != rank[1] || rank[0] != rank[2] || rank[0] < 3 || rank[0] > 4)
    return clarke_lower_fail(low, err, "Q, K and V have %zu, %zu and %zu axes; expected 3 or 4 of each", rank[0], rank[1],
                             rank[2]);
  a->joined = rank[0] == 3;
  for (size_t i = 0; i < 2; i++) {
    const int64_t n = clarke_lower_int(low, i == 0 ? "q_num_heads" : "kv_num_heads", 0);

    if (n < 0 || (a->joined && n == 0) || (!a->joined && n != 0 && (size_t)n != dims[i][1]))
      return clarke_lower_fail(low, err,
                               "%s is %lld; of three axes it tells how many heads lie in the last one, of four it is that of "
                               "the second",
                               i == 0 ? "q_num_heads" : "kv_num_heads", (long long)n);
    heads[i] = a->joined ? (size_t)n : dims[i][1];
  }
  a->batch = dims[0][0];
  a->heads = heads[0];
  a->kv_heads = heads[1];
  return CLARKE_OK;
}

static clarke_status
check_shapes(attention *a, const clarke_lowering *low, size_t dims[3][CLARKE_MAX_WHOLE], clarke_error *err)
{
  const size_t length = a->joined ? 1 : 2, last = a->joined ? 2 : 3;
  size_t size[3];

  for (size_t i = 0; i < 3; i++) {
    const size_t n = i == 0 ? a->heads : a->kv_heads;

    if (n == 0 || (a->joined && dims[i][last] % n != 0) || (!a->joined && dims[i][1] != n) || dims[i][0] != a->batch
        || dims[i][length] == 0 || dims[i][last] == 0)
      return clarke_lower_fail(low, err, "input %zu does not fit a batch of %zu and %zu heads, or has no entries", i, a->batch,
                               n);
    size[i] = a->joined ? dims[i][last] / n : dims[i][last];
  }
  if (a->heads % a->kv_heads != 0 || size[0] != size[1] || dims[1][length] != dims[2][length])
    return clarke_lower_fail(low, err, "%zu heads of %zu entries, %zu of keys of %zu, %zu keys and %zu values: they do not fit",
                             a->heads, size[0], a->kv_heads, size[1], dims[1][length], dims[2][length]);
  a->queries = dims[0][length];
  a->keys = dims[1][length];
  a->size = size[0];
  a->value_size = size[2];
  return CLARKE_OK;
}

/* The past ones come before the keys and values. */
static clarke_status
read_past(attention *a, const clarke_lowering *low, clarke_error *err)
{
  size_t dims[2][CLARKE_MAX_WHOLE];

  if (clarke_lower_has(low, PAST_KEY) != clarke_lower_has(low, PAST_VALUE))
    return clarke_lower_fail(low, err, "past_key without past_value, or the reverse");
  if (!clarke_lower_has(low, PAST_KEY))
    return CLARKE_OK;
  for (size_t i = 0; i < 2; i++)
    if (clarke_axes_of_run(low, PAST_KEY + i, dims[i]) != AXES || dims[i][0] != a->batch || dims[i][1] != a->kv_heads
        || dims[i][2] == 0 || dims[i][2] != dims[0][2] || dims[i][3] != (i == 0 ? a->size : a->value_size))
      return clarke_lower_fail(low, err, "input %zu does not have the axes of the past (batch %zu, heads %zu, 1 or more, %zu)",
                               PAST_KEY + i, a->batch, a->kv_heads, i == 0 ? a->size : a->value_size);
  a->past = dims[0][2];
  a->keys += a->past;
  return CLARKE_OK;
}

/* ONNX's text broadcasts a mask of one row before the places are told; its reference does not. */
static clarke_status
check_rows(const attention *a, const clarke_lowering *low, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank;

  if (!a->causal || !clarke_lower_has(low, MASK))
    return CLARKE_OK;
  rank = clarke_axes_of_run(low, MASK, dims);
  if (rank < 2 || (dims[rank - 2] == 1 && a->queries > 1))
    return clarke_lower_fail(low, err, "is_causal with a mask of one row for %zu queries, which ONNX's text and its reference read "
                                       "otherwise: expand it", a->queries);
  return CLARKE_OK;
}

static clarke_status
read_window(attention *a, const clarke_lowering *low, clarke_error *err)
{
  const int64_t causal = clarke_lower_int(low, "is_causal", 0);
  size_t n = 0;
  clarke_status status = CLARKE_OK;

  a->left = clarke_lower_int(low, "left_window_size", -1);
  a->right = clarke_lower_int(low, "right_window_size", -1);
  a->causal = causal == 1;
  if (a->left < -1 || a->right < -1 || a->left > INT32_MAX || a->right > INT32_MAX || causal < 0 || causal > 1)
    return clarke_lower_fail(low, err, "is_causal %lld, a window of %lld and %lld; expected 0 or 1, and from -1 on",
                             (long long)causal, (long long)a->left, (long long)a->right);
  if (clarke_lower_has(low, LENGTHS))
    status = clarke_lower_integers(low, LENGTHS, &a->lengths, &n, err);
  if (status == CLARKE_OK && a->lengths != NULL
      && (n != a->batch || a->past > 0 || clarke_lower_value(low, LENGTHS)->rank != 1))
    return clarke_lower_fail(low, err, "nonpad_kv_seqlen of %zu entries for a batch of %zu, or with a past", n, a->batch);
  for (size_t i = 0; i < n && status == CLARKE_OK; i++)
    if (a->lengths[i] < 0 || (size_t)a->lengths[i] > a->keys)
      return clarke_lower_fail(low, err, "nonpad_kv_seqlen has %lld of %zu keys", (long long)a->lengths[i], a->keys);
  return status;
}

/* May query i of the sample see key j, as far as places tell? */
static bool
sees(const attention *a, size_t sample, size_t i, size_t j)
{
  const int64_t before = a->lengths != NULL ? a->lengths[sample] - (int64_t)a->queries : (int64_t)a->past;
  const int64_t ahead = (int64_t)j - ((int64_t)i + before);

  return (!a->causal || ahead <= 0) && (a->right < 0 || ahead <= a->right) && (a->left < 0 || -ahead <= a->left)
         && (a->lengths == NULL || (int64_t)j < a->lengths[sample]);
}

size_t
clarke_attention_heads(clarke_lowering *low, size_t value, size_t batch, size_t length, size_t heads, size_t size,
                       clarke_error *err)
{
  static const int64_t order[AXES] = {0, 2, 1, 3};
  const int64_t dims[AXES] = {(int64_t)batch, (int64_t)length, (int64_t)heads, (int64_t)size};

  return clarke_inner_transposed(low, clarke_inner_reshaped(low, value, dims, AXES, err), order, AXES, err);
}

size_t
clarke_attention_joined(clarke_lowering *low, size_t value, size_t batch, size_t length, size_t heads, size_t size,
                        clarke_error *err)
{
  static const int64_t order[AXES] = {0, 2, 1, 3};
  const int64_t dims[3] = {(int64_t)batch, (int64_t)length, (int64_t)(heads * size)};

  return clarke_inner_reshaped(low, clarke_inner_transposed(low, value, order, AXES, err), dims, 3, err);
}

/* (batch, heads, length, size) of an input. */
static size_t
by_heads(clarke_lowering *low, const attention *a, size_t i, clarke_error *err)
{
  const size_t heads = i == QUERY ? a->heads : a->kv_heads, length = i == QUERY ? a->queries : a->keys - a->past;

  return a->joined ? clarke_attention_heads(low, low->in[i], a->batch, length, heads, i == VALUE ? a->value_size : a->size, err)
                   : low->in[i];
}

/* A product of matrices by heads: those of x that share one of y are its rows one after another. */
static size_t
multiply(clarke_lowering *low, const attention *a, size_t x, size_t inner, size_t y, size_t cols, clarke_error *err)
{
  const int64_t shared = (int64_t)(a->heads / a->kv_heads * a->queries), batch = (int64_t)a->batch;
  const int64_t narrow[AXES] = {batch, (int64_t)a->kv_heads, shared, (int64_t)inner};
  const int64_t wide[AXES] = {batch, (int64_t)a->heads, (int64_t)a->queries, (int64_t)cols};
  size_t z;

  if (a->heads == a->kv_heads)
    return clarke_inner_of(low, "MatMul", x, y, err);
  z = clarke_inner_of(low, "MatMul", clarke_inner_reshaped(low, x, narrow, AXES, err), y, err);
  return clarke_inner_reshaped(low, z, wide, AXES, err);
}

size_t
clarke_attention_scaled(clarke_lowering *low, double scale, size_t size, size_t value, clarke_error *err)
{
  const size_t root = (size_t)lround(sqrt((double)size));
  const bool given = !isnan(scale), whole = root * root == size;
  size_t number;
  clarke_step *s;

  if (value == CLARKE_NONE)
    return value;
  number = clarke_inner_number(low, given ? scale : (double)(whole ? root : size), err);
  if (number == CLARKE_NONE || given || whole)
    return clarke_inner_of(low, given ? "Mul" : "Div", value, number, err);
  s = clarke_lower_step_like(low, CLARKE_SCALE, 2, value, err);
  if (s == NULL)
    return CLARKE_NONE;
  s->in[1].value = number;
  s->root = true;
  mpq_init(s->epsilon);
  low->graph->values[s->out].batch = low->graph->values[value].batch;
  value = s->out;
  return clarke_lower_periodic(low, s, 1, 1, 1, err) == CLARKE_OK ? value : CLARKE_NONE;
}

/* `scale` is the stored float32. */
static size_t
scaled(clarke_lowering *low, const attention *a, size_t x, clarke_error *err)
{
  const double scale = clarke_lower_float(low, "scale", 1);

  if (!(scale > 0 && isfinite(scale))) {
    clarke_lower_fail(low, err, "scale is %.9g; expected a number above 0", scale);
    return CLARKE_NONE;
  }
  return clarke_attention_scaled(low, clarke_lower_float(low, "scale", NAN), a->size, x, err);
}

static size_t
capped(clarke_lowering *low, size_t x, clarke_error *err)
{
  const double cap = clarke_lower_float(low, "softcap", 0);
  size_t number;

  if (cap == 0 || x == CLARKE_NONE)
    return x;
  if (!(cap > 0 && isfinite(cap))) {
    clarke_lower_fail(low, err, "softcap is %.9g; expected a number from 0 on", cap);
    return CLARKE_NONE;
  }
  number = clarke_inner_number(low, cap, err);
  x = clarke_inner_function(low, "Tanh", clarke_inner_of(low, "Div", x, number, err), err);
  return clarke_inner_of(low, "Mul", x, number, err);
}

/* --- The mask --- */

/* Entry f of a sample's scores, or of all where there is no batch axis: of which sample (the first of those on an axis), head,
 * query and key. */
static void
place_of(size_t at[AXES], const attention *a, size_t f)
{
  at[3] = f % a->keys;
  at[2] = f / a->keys % a->queries;
  at[1] = f / a->keys / a->queries % a->heads;
  at[0] = f / a->keys / a->queries / a->heads;
}

/* The mask's entry there, broadcast; CLARKE_NONE: its last axis ends before. */
static size_t
mask_entry(const clarke_value *mask, const size_t at[AXES])
{
  size_t entry = 0;

  for (size_t k = 0; k < mask->rank; k++) {
    const size_t place = mask->dims[k] == 1 ? 0 : at[AXES - mask->rank + k];

    if (place >= mask->dims[k])
      return CLARKE_NONE;
    entry = entry * mask->dims[k] + place;
  }
  return entry;
}

/* The mask broadcasts to the scores, and no further: they do not to it. A constant is of numbers or truth values. */
static clarke_status
check_mask(const clarke_lowering *low, const attention *a, bool batched, clarke_error *err)
{
  const clarke_value *mask = clarke_lower_value(low, MASK);
  const size_t all[AXES] = {batched && mask->constant ? 1 : a->batch, a->heads, a->queries, a->keys};
  size_t dims[CLARKE_MAX_WHOLE];
  const size_t rank = clarke_axes_of_run(low, MASK, dims);

  if (mask->constant && mask->real == NULL && mask->dtype != CLARKE_BOOL)
    return clarke_lower_fail(low, err, "a mask of integers; expected truth values, or floats");
  if (rank > AXES || rank == 0 || mask->count == 0)
    return clarke_lower_fail(low, err, "a mask of %zu axes, or of no entries; expected 1 to 4", rank);
  for (size_t k = 0; k < rank; k++) {
    const size_t want = all[AXES - rank + k], has = dims[k];
    const bool shorter = k + 1 == rank && has < want && low->opset >= 24 && mask->constant;

    if (k + 1 == rank && has == 1 && want > 1)
      return clarke_lower_fail(low, err, "a mask of one key for %zu: runtimes differ in whether it is for all, or padded",
                               want);
    if (has != want && has != 1 && !shorter)
      return clarke_lower_fail(low, err, "a mask of %zu entries along axis %zu; the scores have %zu%s", has, k, want,
                               batched && mask->constant && AXES - rank + k == 0 ? ", the samples being on it: one mask is for all of them"
                                                                     : "");
  }
  return CLARKE_OK;
}

/* Adds a constant mask of floats: a step of its own, of which what is minus infinity, or past the mask's end, is marked. */
static size_t
add_numbers(clarke_lowering *low, const attention *a, size_t scores, clarke_error *err)
{
  clarke_graph *g = low->graph;
  const bool odd = clarke_lower_value(low, MASK)->odd;
  const size_t count = g->values[scores].count;
  size_t at[AXES], *map, out;
  clarke_step *s;

  if (!odd && clarke_lower_weight(low, MASK, err) != CLARKE_OK)
    return CLARKE_NONE;
  s = clarke_lower_step_like(low, CLARKE_SUM, 2, scores, err);
  map = s != NULL ? clarke_lower_map(low, s, 1, count, err) : NULL;
  if (map == NULL)
    return CLARKE_NONE;
  out = s->out;
  s->in[1].value = low->in[MASK];
  for (size_t f = 0; f < count; f++) {
    place_of(at, a, f);
    map[f] = mask_entry(clarke_lower_value(low, MASK), at);
  }
  g->values[out].batch = g->values[scores].batch;
  return !odd || clarke_lower_exclude(low, s, 1, err) == CLARKE_OK ? out : CLARKE_NONE;
}

/* Is entry f of the scores seen by place, and by a constant mask? */
static bool
is_left(const clarke_lowering *low, const attention *a, size_t f)
{
  const clarke_value *mask =
      clarke_lower_has(low, MASK) && clarke_lower_value(low, MASK)->constant ? clarke_lower_value(low, MASK) : NULL;
  size_t at[AXES], entry;

  place_of(at, a, f);
  entry = mask != NULL ? mask_entry(mask, at) : 0;
  return sees(a, at[0], at[2], at[3])
         && (mask == NULL || (entry != CLARKE_NONE && (mask->integer == NULL || mask->integer[entry] != 0)));
}

/* A copy of the scores in which entries that are not left are marked. */
static size_t
mark_unseen(clarke_lowering *low, const attention *a, size_t scores, clarke_error *err)
{
  clarke_graph *g = low->graph;
  const size_t count = g->values[scores].count;
  bool *unseen = calloc(count + 1, sizeof *unseen), some = false;
  size_t *map = NULL;
  clarke_step *s = NULL;

  if (unseen == NULL) {
    clarke_lower_no_memory(low, err);
    return CLARKE_NONE;
  }
  for (size_t f = 0; f < count; f++) {
    unseen[f] = !is_left(low, a, f) || (g->values[scores].excluded != NULL && g->values[scores].excluded[f]);
    some = some || unseen[f];
  }
  if (some) {
    s = clarke_lower_step_like(low, CLARKE_SUM, 1, scores, err);
    map = s != NULL ? clarke_lower_map(low, s, 0, count, err) : NULL;
  }
  for (size_t f = 0; map != NULL && f < count; f++)
    map[f] = unseen[f] ? CLARKE_NONE : f;
  if (map == NULL) {
    free(unseen);
    return some ? CLARKE_NONE : scores;
  }
  g->values[s->out].batch = g->values[scores].batch;
  g->values[s->out].excluded = unseen;
  return s->out;
}

static size_t
masked(clarke_lowering *low, const attention *a, size_t scores, clarke_error *err)
{
  const clarke_value *mask = clarke_lower_has(low, MASK) ? clarke_lower_value(low, MASK) : NULL;
  const clarke_batch_axis *batch;
  bool batched;

  if (scores == CLARKE_NONE)
    return scores;
  batch = &low->graph->values[scores].batch;
  batched = low->graph->batched && !batch->none;
  if (batched && (batch->merged || batch->axis != 0)) {
    clarke_lower_fail(low, err, "the samples are on axis %zu; expected them on the first of Q, K and V", batch->axis);
    return CLARKE_NONE;
  }
  for (size_t i = 1; i < a->batch && batched && a->lengths != NULL; i++)
    if (a->lengths[i] != a->lengths[0]) {
      clarke_lower_fail(low, err, "nonpad_kv_seqlen is another one for each sample: read the batch whole (--batch-axis none)");
      return CLARKE_NONE;
    }
  if (mask != NULL && check_mask(low, a, batched, err) != CLARKE_OK)
    return CLARKE_NONE;
  if (mask != NULL && !mask->constant && mask->holds != CLARKE_HOLDS_FLOATS) {
    clarke_lower_fail(low, err,
                      "a mask of truth values that are computed of activations: Cast it, or choose by it (Where) before");
    return CLARKE_NONE;
  }
  if (mask != NULL && !mask->constant)
    scores = clarke_inner_of(low, "Add", scores, low->in[MASK], err);
  else if (mask != NULL && mask->real != NULL)
    scores = add_numbers(low, a, scores, err);
  return scores != CLARKE_NONE ? mark_unseen(low, a, scores, err) : scores;
}

/* --- The operator --- */

static size_t
with_past(clarke_lowering *low, const attention *a, size_t value, size_t past, clarke_error *err)
{
  return a->past > 0 ? clarke_inner_joined(low, (size_t[]){low->in[past], value}, 2, 2, err) : value;
}

/* The outputs behind the first: keys, values, scores as `mode` has them. */
static clarke_status
give_others(clarke_lowering *low, size_t keys, size_t values, size_t scores, clarke_error *err)
{
  const size_t other[4] = {CLARKE_NONE, keys, values, scores};
  clarke_status status = CLARKE_OK;

  for (size_t k = 1; k < low->node->n_out && status == CLARKE_OK; k++)
    if (low->node->out[k][0] != '\0')
      status = k < 3 ? clarke_inner_done(low, k, other[k], err) : clarke_lower_output(low, k, other[k], err);
  return status;
}

static clarke_status
attend(clarke_lowering *low, const attention *a, clarke_error *err)
{
  static const int64_t turned[AXES] = {0, 1, 3, 2};
  const int64_t mode = clarke_lower_int(low, "qk_matmul_output_mode", 0);
  size_t scores[4], y, keys = with_past(low, a, by_heads(low, a, KEY, err), PAST_KEY, err);
  const size_t values = with_past(low, a, by_heads(low, a, VALUE, err), PAST_VALUE, err);
  clarke_status status;

  if (mode < 0 || mode > 3)
    return clarke_lower_fail(low, err, "qk_matmul_output_mode is %lld; expected 0 to 3", (long long)mode);
  if (mode == 0 && low->node->n_out > 3 && low->node->out[3][0] != '\0' && clarke_lower_float(low, "softcap", 0) != 0)
    return clarke_lower_fail(low, err, "output 3 of mode 0 with a softcap: ONNX's text has the scores before it, its reference "
                                       "those behind it. Give it no name");
  y = multiply(low, a, by_heads(low, a, QUERY, err), a->size, clarke_inner_transposed(low, keys, turned, AXES, err), a->keys,
               err);
  scores[0] = scaled(low, a, y, err);
  scores[1] = capped(low, scores[0], err);
  scores[2] = masked(low, a, scores[1], err);
  scores[3] = clarke_inner_function(low, "Softmax", scores[2], err);
  y = multiply(low, a, scores[3], a->keys, values, a->value_size, err);
  if (a->joined)
    y = clarke_attention_joined(low, y, a->batch, a->queries, a->heads, a->value_size, err);
  status = clarke_inner_done(low, 0, y, err);
  return status == CLARKE_OK ? give_others(low, keys, values, scores[mode], err) : status;
}

static clarke_status
lower_attention(clarke_lowering *low, clarke_error *err)
{
  attention a = {0};
  size_t dims[3][CLARKE_MAX_WHOLE];
  clarke_status status = clarke_lower_lift_given(low, err);

  if (status == CLARKE_OK)
    status = read_shapes(&a, low, dims, err);
  if (status == CLARKE_OK)
    status = check_shapes(&a, low, dims, err);
  if (status == CLARKE_OK)
    status = read_past(&a, low, err);
  if (status == CLARKE_OK)
    status = read_window(&a, low, err);
  if (status == CLARKE_OK)
    status = check_rows(&a, low, err);
  return status == CLARKE_OK ? attend(low, &a, err) : status;
}

#define ATTRIBUTES "is_causal:b kv_num_heads:i q_num_heads:i qk_matmul_output_mode:i scale:f softcap:f softmax_precision:i"

const clarke_op clarke_ops_attention[] = {
    {.name = "Attention",
     .forms = {{23, 3, 6, 4, ATTRIBUTES},
               {24, 3, 7, 4, ATTRIBUTES},
               {25, 3, 7, 4, ATTRIBUTES " left_window_size:i right_window_size:i"}},
     .lower = lower_attention,
     .batch = CLARKE_BATCH_FIRST,
     .takes_odd = true},
    {.name = NULL},
};
