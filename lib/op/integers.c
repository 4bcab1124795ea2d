/* Shape, ConstantOfShape, Cast, Equal, Mod, Where; and what Add, Sub, Mul, Div, Concat are of integers: constants, computed when the
 * network is built. A shape's entry for the batch axis is the number of samples of a run. */
#include "op/integers.h"
#include "op/axes.h"
#include "op/floats.h"
#include "op/lower.h"

#include <stdlib.h>
#include <string.h>

#define MOST_INTEGERS ((size_t)65536)

static bool
is_whole(const clarke_lowering *low, size_t i, clarke_dtype dtype)
{
  return clarke_lower_has(low, i) && clarke_lower_value(low, i)->constant && clarke_lower_value(low, i)->integer != NULL &&
         clarke_lower_value(low, i)->dtype == dtype;
}

bool
clarke_lower_of_integers(const clarke_lowering *low)
{
  bool all = low->n_in > 0;

  for (size_t i = 0; i < low->n_in; i++)
    all = all && is_whole(low, i, CLARKE_I64);
  return all;
}

static clarke_status
refuse_input(const clarke_lowering *low, size_t i, clarke_error *err)
{
  return clarke_lower_fail(low, err, "input %zu is no constant of %s: only shapes are computed so. A comparison of activations may "
                                     "jump: write it with Relu, Clip, Max or Min; or record the training step (clarke.record)", i,
                           i == 0 && low->node->op_type[0] == 'W' ? "truth values" : "64-bit integers");
}

/* The node's output, of zeros for the caller to fill. */
static int64_t *
new_integers(clarke_lowering *low, clarke_dtype dtype, size_t rank, const size_t *dims, clarke_error *err)
{
  size_t value, count = 1;
  clarke_value *v;

  for (size_t a = 0; a < rank; a++)
    if (__builtin_mul_overflow(count, dims[a], &count))
      count = SIZE_MAX;
  if (rank > CLARKE_MAX_RANK || count == 0 || count > MOST_INTEGERS) {
    clarke_lower_fail(low, err, "1 to %zu integers on at most %d axes are computed", MOST_INTEGERS, CLARKE_MAX_RANK);
    return NULL;
  }
  if (!clarke_lower_affordable(low->graph, count)) {
    clarke_lower_too_large(low, err);
    return NULL;
  }
  low->graph->activations += count;
  if (clarke_lower_made(low, rank, dims, &value, err) != CLARKE_OK || clarke_lower_done(low, value, err) != CLARKE_OK)
    return NULL;
  v = &low->graph->values[value];
  free(v->real);
  v->real = NULL;
  v->dtype = dtype;
  v->integer = calloc(count, sizeof *v->integer);
  if (v->integer == NULL)
    clarke_lower_no_memory(low, err);
  return v->integer;
}

static clarke_status
failed(const clarke_error *err)
{
  return err != NULL ? err->code : CLARKE_EINPUT;
}

/* False where the result is no 64-bit integer; negative numbers are not divided, which frameworks round differently. */
static bool
compute(const char *op, const int64_t *v, int64_t *to)
{
  const bool divisible = v[0] >= 0 && v[1] > 0;

  if (strcmp(op, "Where") == 0)
    *to = v[0] != 0 ? v[1] : v[2];
  else if (strcmp(op, "Equal") == 0)
    *to = v[0] == v[1];
  else if (strcmp(op, "Add") == 0)
    return !__builtin_add_overflow(v[0], v[1], to);
  else if (strcmp(op, "Sub") == 0)
    return !__builtin_sub_overflow(v[0], v[1], to);
  else if (strcmp(op, "Mul") == 0)
    return !__builtin_mul_overflow(v[0], v[1], to);
  else if (divisible)
    *to = strcmp(op, "Div") == 0 ? v[0] / v[1] : v[0] % v[1];
  else
    return false;
  return true;
}

bool
clarke_lower_constants_shape(const clarke_lowering *low, size_t *rank, size_t *dims)
{
  *rank = 0;
  for (size_t i = 0; i < low->n_in; i++)
    *rank = clarke_lower_value(low, i)->rank > *rank ? clarke_lower_value(low, i)->rank : *rank;
  for (size_t a = 0; a < *rank; a++) {
    dims[a] = 1;
    for (size_t i = 0; i < low->n_in; i++) {
      const clarke_value *v = clarke_lower_value(low, i);
      const size_t d = a + v->rank < *rank ? 1 : v->dims[a + v->rank - *rank];

      if (d != 1 && dims[a] != 1 && d != dims[a])
        return false;
      dims[a] = d != 1 ? d : dims[a];
    }
  }
  return true;
}

size_t
clarke_lower_constants_entry(const clarke_value *v, size_t rank, const size_t *dims, size_t f)
{
  size_t entry = 0, stride = 1;

  for (size_t a = rank, b = v->rank; b > 0; f /= dims[a]) {
    a--;
    b--;
    entry += (v->dims[b] == 1 ? 0 : f % dims[a]) * stride;
    stride *= v->dims[b];
  }
  return entry;
}

clarke_status
clarke_lower_integers_computed(clarke_lowering *low, clarke_error *err)
{
  const char *op = low->node->op_type;
  size_t rank, dims[CLARKE_MAX_RANK], count = 1;
  int64_t *out;

  for (size_t i = 0; i < low->n_in; i++)
    if (!is_whole(low, i, i == 0 && op[0] == 'W' ? CLARKE_BOOL : CLARKE_I64))
      return refuse_input(low, i, err);
  if (!clarke_lower_constants_shape(low, &rank, dims))
    return clarke_lower_fail(low, err, "the shapes do not broadcast");
  out = new_integers(low, op[0] == 'E' ? CLARKE_BOOL : CLARKE_I64, rank, dims, err);
  if (out == NULL)
    return failed(err);
  for (size_t a = 0; a < rank; a++)
    count *= dims[a];
  for (size_t f = 0; f < count; f++) {
    int64_t v[3] = {0};

    for (size_t i = 0; i < low->n_in; i++)
      v[i] = clarke_lower_value(low, i)->integer[clarke_lower_constants_entry(clarke_lower_value(low, i), rank, dims, f)];
    if (!compute(op, v, &out[f]))
      return clarke_lower_fail(low, err, "entry %zu, of %lld and %lld: the result is no 64-bit integer, or a negative number is "
                                         "divided", f, (long long)v[0], (long long)v[1]);
  }
  return CLARKE_OK;
}

clarke_status
clarke_lower_integers_joined(clarke_lowering *low, clarke_error *err)
{
  size_t count = 0, at = 0;
  int64_t *out;

  for (size_t i = 0; i < low->n_in; i++) {
    if (clarke_lower_value(low, i)->rank != 1)
      return clarke_lower_fail(low, err, "input %zu has %zu axes; lists of integers have one", i, clarke_lower_value(low, i)->rank);
    count += clarke_lower_value(low, i)->count;
  }
  if (clarke_lower_int(low, "axis", 1) != 0 && clarke_lower_int(low, "axis", 1) != -1)
    return clarke_lower_fail(low, err, "axis is missing, or out of range for lists");
  out = new_integers(low, CLARKE_I64, 1, &count, err);
  if (out == NULL)
    return failed(err);
  for (size_t i = 0; i < low->n_in; at += clarke_lower_value(low, i++)->count)
    if (clarke_lower_value(low, i)->count > 0)
      memcpy(out + at, clarke_lower_value(low, i)->integer, clarke_lower_value(low, i)->count * sizeof *out);
  return CLARKE_OK;
}

/* An end of the list, from its end when it is negative, within it. */
static size_t
within(int64_t at, size_t rank)
{
  if (at < 0)
    at = at < -(int64_t)rank ? 0 : at + (int64_t)rank;
  return at > (int64_t)rank ? rank : (size_t)at;
}

static clarke_status
lower_shape(clarke_lowering *low, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank, start, end, n;
  int64_t *out;

  if (!clarke_lower_has(low, 0))
    return clarke_lower_fail(low, err, "input 0 is missing");
  rank = clarke_axes_of_run(low, 0, dims);
  start = within(clarke_lower_int(low, "start", 0), rank);
  end = within(clarke_lower_int(low, "end", INT64_MAX), rank);
  n = end > start ? end - start : 0;
  out = new_integers(low, CLARKE_I64, 1, &n, err);
  if (out == NULL)
    return failed(err);
  for (size_t i = 0; i < n; i++)
    out[i] = (int64_t)dims[start + i];
  return CLARKE_OK;
}

static clarke_status
lower_filled(clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *fill = clarke_model_attr(low->node, "value");
  size_t dims[CLARKE_MAX_RANK], rank, count = 1;
  int64_t *out;

  if (!is_whole(low, 0, CLARKE_I64))
    return refuse_input(low, 0, err);
  rank = clarke_lower_value(low, 0)->count;
  if (fill == NULL || fill->t.dtype != CLARKE_I64 || fill->t.integer == NULL || fill->t.count != 1 || rank > CLARKE_MAX_RANK)
    return clarke_lower_fail(low, err, "value is no 64-bit integer, or the shape has over %d axes", CLARKE_MAX_RANK);
  for (size_t a = 0; a < rank; a++) {
    if (clarke_lower_value(low, 0)->integer[a] < 0 || clarke_lower_value(low, 0)->integer[a] > INT32_MAX)
      return clarke_lower_fail(low, err, "entry %zu of the shape is %lld", a, (long long)clarke_lower_value(low, 0)->integer[a]);
    dims[a] = (size_t)clarke_lower_value(low, 0)->integer[a];
  }
  out = new_integers(low, CLARKE_I64, rank, dims, err);
  if (out == NULL)
    return failed(err);
  for (size_t a = 0; a < rank; a++)
    count *= dims[a];
  for (size_t e = 0; e < count; e++)
    out[e] = fill->t.integer[0];
  return CLARKE_OK;
}

#define ONNX_FLOAT 1
#define ONNX_INT64 7

static clarke_status
lower_cast(clarke_lowering *low, clarke_error *err)
{
  const clarke_value *x = clarke_lower_has(low, 0) ? clarke_lower_value(low, 0) : NULL;
  size_t rank, dims[CLARKE_MAX_RANK];
  int64_t *out;

  if (clarke_lower_int(low, "to", 0) == ONNX_FLOAT)
    return clarke_lower_floats_computed(low, err);
  if ((!is_whole(low, 0, CLARKE_I64) && !is_whole(low, 0, CLARKE_BOOL)) || clarke_lower_int(low, "to", 0) != ONNX_INT64)
    return clarke_lower_fail(low, err, "only constants of 64-bit integers, or truth values, become 64-bit integers or float32. Export "
                                       "with torch.onnx.export(dynamo=True), which folds other constants; or record the training step "
                                       "(clarke.record)");
  rank = x->rank;
  memcpy(dims, x->dims, rank * sizeof *dims);
  out = new_integers(low, CLARKE_I64, rank, dims, err);
  if (out == NULL)
    return failed(err);
  memcpy(out, clarke_lower_value(low, 0)->integer, clarke_lower_value(low, 0)->count * sizeof *out);
  return CLARKE_OK;
}

const clarke_op clarke_ops_integers[] = {
  {.name = "Shape", .forms = {{7, 1, 1, 1, NULL}, {15, 1, 1, 1, "end:i start:i"}}, .lower = lower_shape, .batch = CLARKE_BATCH_ANY},
  {.name = "ConstantOfShape", .forms = {{9, 1, 1, 1, "value:t"}}, .lower = lower_filled, .batch = CLARKE_BATCH_ANY},
  {.name = "Cast", .forms = {{7, 1, 1, 1, "to:i"}, {19, 1, 1, 1, "saturate:i to:i"}, {24, 1, 1, 1, "round_mode:s saturate:i to:i"}},
   .lower = lower_cast, .batch = CLARKE_BATCH_ANY},
  {.name = "Equal", .forms = {{7, 2, 2, 1, NULL}}, .lower = clarke_lower_integers_computed, .batch = CLARKE_BATCH_ANY},
  {.name = "Mod", .forms = {{10, 2, 2, 1, "fmod:i"}}, .lower = clarke_lower_integers_computed, .batch = CLARKE_BATCH_ANY},
  {.name = "Where", .forms = {{9, 3, 3, 1, NULL}}, .lower = clarke_lower_integers_computed, .batch = CLARKE_BATCH_ANY},
  {.name = NULL},
};
