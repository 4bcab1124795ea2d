/* LinearAttention: a state, a matrix by heads, that each time decays, takes up the key times the value, or what is new of it,
 * and is read by the query. Time after time, as ONNX states it. */
#include "op/attention.h"
#include "op/axes.h"
#include "op/lower.h"
#include "op/node.h"

#include <math.h>
#include <string.h>

enum { QUERY, KEY, VALUE, PAST, DECAY, BETA };

#define AXES CLARKE_HEAD_AXES
#define MOST_TIMES 1024

typedef struct {
  size_t batch, times, heads, kv_heads, size, value_size;
  size_t q, k, v, decay, beta; /* by heads; decay and beta CLARKE_NONE where the rule has none */
} recurrence;

/* The last axis of an input of axes (batch, times, .); 0: it has others, or n of something does not fit in it. */
static size_t
last_axis(const recurrence *r, const clarke_lowering *low, size_t i, size_t n)
{
  size_t dims[CLARKE_MAX_WHOLE];

  if (!clarke_lower_has(low, i) || clarke_axes_of_run(low, i, dims) != 3 || dims[0] != r->batch || dims[1] != r->times)
    return 0;
  return n > 0 && dims[2] % n == 0 ? dims[2] : 0;
}

static clarke_status
read_shapes(recurrence *r, const clarke_lowering *low, clarke_error *err)
{
  const int64_t heads = clarke_lower_int(low, "q_num_heads", 0), kv_heads = clarke_lower_int(low, "kv_num_heads", 0);
  size_t dims[CLARKE_MAX_WHOLE], q, k, v;

  if (heads <= 0 || kv_heads <= 0 || heads % kv_heads != 0)
    return clarke_lower_fail(low, err, "q_num_heads %lld and kv_num_heads %lld; expected a multiple, above 0", (long long)heads,
                             (long long)kv_heads);
  if (clarke_axes_of_run(low, QUERY, dims) != 3)
    return clarke_lower_fail(low, err, "a query that has not three axes");
  r->batch = dims[0];
  r->times = dims[1];
  r->heads = (size_t)heads;
  r->kv_heads = (size_t)kv_heads;
  if (r->times > MOST_TIMES)
    return clarke_lower_fail(low, err, "%zu times; at most %d are taken", r->times, MOST_TIMES);
  q = last_axis(r, low, QUERY, r->heads);
  k = last_axis(r, low, KEY, r->kv_heads);
  v = last_axis(r, low, VALUE, r->kv_heads);
  if (q == 0 || k == 0 || v == 0 || r->times == 0 || q / r->heads != k / r->kv_heads)
    return clarke_lower_fail(low, err, "query, key and value of (batch, times, heads size) do not fit %zu and %zu heads",
                             r->heads, r->kv_heads);
  r->size = q / r->heads;
  r->value_size = v / r->kv_heads;
  return CLARKE_OK;
}

static clarke_status
check_past(const recurrence *r, const clarke_lowering *low, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE];

  if (clarke_lower_has(low, PAST)
      && (clarke_axes_of_run(low, PAST, dims) != AXES || dims[0] != r->batch || dims[1] != r->kv_heads || dims[2] != r->size
          || dims[3] != r->value_size))
    return clarke_lower_fail(low, err, "a past state of other axes than (%zu, %zu, %zu, %zu)", r->batch, r->kv_heads, r->size,
                             r->value_size);
  return CLARKE_OK;
}

/* The inputs that the rule has, and no others. */
static clarke_status
read_rule(recurrence *r, clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *attr = clarke_model_attr(low->node, "update_rule");
  const char *rule = attr != NULL ? attr->s : "gated_delta";
  const bool gated = strncmp(rule, "gated", 5) == 0, delta = strcmp(rule, "delta") == 0 || strcmp(rule, "gated_delta") == 0;
  size_t decay = 0, beta = 0;

  if (!delta && strcmp(rule, "linear") != 0 && strcmp(rule, "gated") != 0)
    return clarke_lower_fail(low, err, "update_rule is '%.40s'; expected linear, gated, delta or gated_delta", rule);
  if (clarke_lower_has(low, DECAY) != gated || clarke_lower_has(low, BETA) != delta)
    return clarke_lower_fail(low, err, "the rule %s %s a decay, and %s a beta", rule, gated ? "wants" : "has not",
                             delta ? "wants" : "has not");
  if (gated)
    decay = last_axis(r, low, DECAY, r->kv_heads);
  if (delta)
    beta = last_axis(r, low, BETA, 1);
  if ((gated && decay != r->kv_heads && decay != r->kv_heads * r->size) || (delta && beta != r->kv_heads && beta != 1))
    return clarke_lower_fail(low, err, "a decay or beta that is neither one for each head nor as ONNX has it else");
  r->decay = r->beta = CLARKE_NONE;
  if (gated)
    r->decay = clarke_inner_function(
        low, "Exp", clarke_attention_heads(low, low->in[DECAY], r->batch, r->times, r->kv_heads, decay / r->kv_heads, err),
        err);
  if (delta)
    r->beta = clarke_attention_heads(low, low->in[BETA], r->batch, r->times, beta, 1, err);
  return (gated && r->decay == CLARKE_NONE) || (delta && r->beta == CLARKE_NONE) ? clarke_inner_failed(err) : CLARKE_OK;
}

/* What a value by heads is at a time; turned: its rows as columns. */
static size_t
at_time(clarke_lowering *low, size_t value, size_t time, bool turned, clarke_error *err)
{
  static const int64_t order[AXES] = {0, 1, 3, 2};

  value = clarke_inner_sliced(low, value, 2, time, time + 1, err);
  return turned ? clarke_inner_transposed(low, value, order, AXES, err) : value;
}

/* The state after the time; CLARKE_NONE for the first: zeros. */
static size_t
next_state(const recurrence *r, clarke_lowering *low, size_t state, size_t time, clarke_error *err)
{
  const bool begun = state != CLARKE_NONE;
  size_t v = at_time(low, r->v, time, false, err), new;

  if (begun && r->decay != CLARKE_NONE)
    state = clarke_inner_of(low, "Mul", state, at_time(low, r->decay, time, true, err), err);
  if (begun && r->beta != CLARKE_NONE)
    v = clarke_inner_of(low, "Sub", v, clarke_inner_of(low, "MatMul", at_time(low, r->k, time, false, err), state, err), err);
  if (r->beta != CLARKE_NONE)
    v = clarke_inner_of(low, "Mul", v, at_time(low, r->beta, time, false, err), err);
  new = clarke_inner_of(low, "MatMul", at_time(low, r->k, time, true, err), v, err);
  return begun ? clarke_inner_of(low, "Add", state, new, err) : new;
}

/* What the queries read of it: those that share a head's state are the rows of one matrix. */
static size_t
read_state(const recurrence *r, clarke_lowering *low, size_t state, size_t time, clarke_error *err)
{
  const int64_t shared = (int64_t)(r->heads / r->kv_heads), batch = (int64_t)r->batch;
  const int64_t narrow[AXES] = {batch, (int64_t)r->kv_heads, shared, (int64_t)r->size};
  const int64_t wide[AXES] = {batch, (int64_t)r->heads, 1, (int64_t)r->value_size};
  const size_t q = clarke_inner_reshaped(low, at_time(low, r->q, time, false, err), narrow, AXES, err);

  return clarke_inner_reshaped(low, clarke_inner_of(low, "MatMul", q, state, err), wide, AXES, err);
}

static clarke_status
run(recurrence *r, clarke_lowering *low, clarke_error *err)
{
  const double scale = clarke_lower_float(low, "scale", 0);
  size_t read[MOST_TIMES], state = clarke_lower_has(low, PAST) ? low->in[PAST] : CLARKE_NONE, y;
  clarke_status status;

  if (!isfinite(scale))
    return clarke_lower_fail(low, err, "scale is %.9g; expected a number", scale);
  r->q = clarke_attention_heads(low, low->in[QUERY], r->batch, r->times, r->heads, r->size, err);
  r->k = clarke_attention_heads(low, low->in[KEY], r->batch, r->times, r->kv_heads, r->size, err);
  r->v = clarke_attention_heads(low, low->in[VALUE], r->batch, r->times, r->kv_heads, r->value_size, err);
  for (size_t time = 0; time < r->times; time++) {
    state = next_state(r, low, state, time, err);
    read[time] = state != CLARKE_NONE ? read_state(r, low, state, time, err) : CLARKE_NONE;
    if (read[time] == CLARKE_NONE)
      return clarke_inner_failed(err);
  }
  y = r->times > 1 ? clarke_inner_joined(low, read, r->times, 2, err) : read[0];
  y = clarke_attention_joined(low, y, r->batch, r->times, r->heads, r->value_size, err);
  status = clarke_inner_done(low, 0, clarke_attention_scaled(low, scale != 0 ? scale : NAN, r->size, y, err), err);
  if (status == CLARKE_OK && low->node->n_out > 1 && low->node->out[1][0] != '\0')
    status = clarke_inner_done(low, 1, state, err);
  return status;
}

static clarke_status
lower_linear_attention(clarke_lowering *low, clarke_error *err)
{
  recurrence r = {0};
  clarke_status status = clarke_lower_lift_given(low, err);

  if (status == CLARKE_OK)
    status = read_shapes(&r, low, err);
  if (status == CLARKE_OK)
    status = check_past(&r, low, err);
  if (status == CLARKE_OK)
    status = read_rule(&r, low, err);
  return status == CLARKE_OK ? run(&r, low, err) : status;
}

const clarke_op clarke_ops_linear_attention[] = {
    {.name = "LinearAttention",
     .forms = {{27, 3, 6, 2, "chunk_size:i kv_num_heads:i q_num_heads:i scale:f update_rule:s"}},
     .lower = lower_linear_attention,
     .batch = CLARKE_BATCH_FIRST},
    {.name = NULL},
};
