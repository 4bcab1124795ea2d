/* Shape, Size, Range, ReduceProd, ConstantOfShape: what exporters compute shapes and places with, constants when the network is
 * built. A shape's entry for the batch axis is the number of samples of a run. */
#include "op/axes.h"
#include "op/floats.h"
#include "op/integers.h"
#include "op/lower.h"
#include "op/stated.h"

static clarke_status
failed(const clarke_error *err)
{
  return err != NULL ? err->code : CLARKE_EINPUT;
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
  out = clarke_lower_integers_made(low, CLARKE_I64, 1, &n, err);
  if (out == NULL)
    return failed(err);
  for (size_t i = 0; i < n; i++)
    out[i] = (int64_t)dims[start + i];
  return CLARKE_OK;
}

static clarke_status
lower_size(clarke_lowering *low, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank;
  int64_t *out, size = 1;

  if (!clarke_lower_has(low, 0))
    return clarke_lower_fail(low, err, "input 0 is missing");
  rank = clarke_axes_of_run(low, 0, dims);
  for (size_t a = 0; a < rank; a++)
    if (__builtin_mul_overflow(size, dims[a], &size))
      return clarke_lower_fail(low, err, "the number of entries is no 64-bit integer");
  out = clarke_lower_integers_made(low, CLARKE_I64, 0, NULL, err);
  if (out == NULL)
    return failed(err);
  *out = size;
  return CLARKE_OK;
}

static clarke_status
need_integers(const clarke_lowering *low, clarke_error *err)
{
  return clarke_lower_of_integers(low)
           ? CLARKE_OK
           : clarke_lower_fail(low, err, "the inputs are no constants of integers, or of floats for Range, all of one type: only shapes and places "
                                    "are computed so");
}

/* Are the inputs constants of floats of one type? Initializers may be among them, as bounds of a Clip may. */
static bool
has_float_ends(const clarke_lowering *low)
{
  bool all = true;

  for (size_t i = 0; i < 3 && all; i++) {
    const clarke_value *v = clarke_lower_has(low, i) ? clarke_lower_value(low, i) : NULL;

    all = v != NULL && v->constant && v->real != NULL && !v->negated && clarke_floats_are(v->dtype)
          && v->dtype == clarke_lower_value(low, 0)->dtype;
  }
  return all;
}

/* The three inputs as integers. Floats must be whole numbers that their type has. */
static clarke_status
read_ends(clarke_lowering *low, bool floats, int64_t *end, clarke_error *err)
{
  clarke_status status = floats ? CLARKE_OK : need_integers(low, err);

  for (size_t i = 0; i < 3 && status == CLARKE_OK; i++) {
    const clarke_value *v = clarke_lower_value(low, i);

    if (v->count != 1)
      return clarke_lower_fail(low, err, "input %zu has %zu entries; expected one", i, v->count);
    if (floats && !clarke_floats_whole(v->real[0], v->dtype))
      return clarke_lower_fail(low, err, "input %zu is %.17g: of floats, ends and step must be whole numbers that their type has, at most "
                                         "2^24", i, v->real[0]);
    end[i] = floats ? (int64_t)v->real[0] : v->integer[0];
    low->graph->values[low->in[i]].bound = floats || v->bound; /* a number that is read here */
  }
  return status;
}

/* So many floats from the first on, by as much apart. */
static clarke_status
float_range(clarke_lowering *low, const int64_t *end, size_t count, clarke_error *err)
{
  const clarke_dtype dtype = clarke_lower_value(low, 0)->dtype;
  clarke_status status = clarke_lower_floats_filled(low, dtype, 1, &count, 0, err);

  for (size_t i = 0; i < count && status == CLARKE_OK; i++)
    low->graph->values[low->graph->n_values - 1].real[i] = (double)(end[0] + (int64_t)i * end[2]);
  return status;
}

/* The integers from the first to below the second, or down to above it, by the third apart; whole floats alike. */
static clarke_status
lower_range(clarke_lowering *low, clarke_error *err)
{
  const bool floats = has_float_ends(low);
  int64_t end[3], length, by, n = 0, *out;
  size_t count;
  clarke_status status = read_ends(low, floats, end, err);

  if (status != CLARKE_OK)
    return status;
  if (end[2] == 0 || end[2] == INT64_MIN || __builtin_sub_overflow(end[1], end[0], &length) || length == INT64_MIN)
    return clarke_lower_fail(low, err, "from %lld to %lld by %lld: expected a step that is not 0, and ends not too far apart",
                             (long long)end[0], (long long)end[1], (long long)end[2]);
  by = end[2] < 0 ? -end[2] : end[2];
  length = end[2] < 0 ? -length : length;
  if (length > 0)
    n = length / by + (length % by != 0);
  count = (size_t)n;
  if (floats && !clarke_floats_whole((double)length, clarke_lower_value(low, 0)->dtype))
    return clarke_lower_fail(low, err, "%lld is no number of the type: runtimes round how far the ends are apart", (long long)length);
  if (floats)
    return float_range(low, end, count, err);
  out = clarke_lower_integers_made(low, clarke_lower_value(low, 0)->dtype, 1, &count, err);
  for (size_t i = 0; out != NULL && i < count; i++)
    out[i] = end[0] + (int64_t)i * end[2];
  return out != NULL ? CLARKE_OK : failed(err);
}

static clarke_status
lower_product(clarke_lowering *low, clarke_error *err)
{
  const int64_t *axes;
  const size_t one = 1;
  int64_t *out, product = 1;
  size_t n;
  bool given, chosen[1];
  const clarke_value *list;
  clarke_status status = clarke_axes_list(low, "axes", 1, &axes, &n, &given, err);

  if (status != CLARKE_OK)
    return status;
  list = clarke_lower_has(low, 0) ? clarke_lower_value(low, 0) : NULL;
  if (list != NULL && !list->constant)
    return clarke_lower_reduced_product(low, err);
  if (list == NULL || list->integer == NULL || list->rank != 1 || (list->dtype != CLARKE_I64 && list->dtype != CLARKE_I32))
    return clarke_lower_fail(low, err, "input 0 is no list of integers, a constant: only shapes are computed so. Of activations "
                                       "record the training step (clarke.record)");
  status = clarke_axes_chosen(low, axes, n, 1, chosen, err);
  if (status != CLARKE_OK)
    return status;
  if (n == 0 && clarke_lower_int(low, "noop_with_empty_axes", 0) != 0)
    return clarke_lower_fail(low, err, "noop_with_empty_axes is 1, and there are no axes");
  for (size_t i = 0; i < list->count; i++)
    if (__builtin_mul_overflow(product, list->integer[i], &product)
        || (list->dtype == CLARKE_I32 && (product < INT32_MIN || product > INT32_MAX)))
      return clarke_lower_fail(low, err, "entry %zu: the product is no integer of the type", i);
  out = clarke_lower_integers_made(low, list->dtype, clarke_lower_int(low, "keepdims", 1) != 0, &one, err);
  if (out == NULL)
    return failed(err);
  *out = product;
  return CLARKE_OK;
}

/* One number everywhere, an integer or a float32; without `value` it is 0.0. */
static clarke_status
lower_filled(clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *fill = clarke_model_attr(low->node, "value");
  const bool whole = fill != NULL && fill->t.dtype == CLARKE_I64 && fill->t.integer != NULL;
  size_t dims[CLARKE_MAX_RANK], rank, count = 1;
  int64_t *out;
  clarke_status status = need_integers(low, err);

  if (status != CLARKE_OK)
    return status;
  rank = clarke_lower_value(low, 0)->count;
  if (rank > CLARKE_MAX_RANK)
    return clarke_lower_fail(low, err, "the shape has over %d axes", CLARKE_MAX_RANK);
  if (fill != NULL && (fill->t.count != 1 || !(whole || (clarke_floats_are(fill->t.dtype) && fill->t.real != NULL))))
    return clarke_lower_fail(low, err, "value is no 64-bit integer and no float, or more than one");
  for (size_t a = 0; a < rank; a++) {
    if (clarke_lower_value(low, 0)->integer[a] < 0 || clarke_lower_value(low, 0)->integer[a] > INT32_MAX)
      return clarke_lower_fail(low, err, "entry %zu of the shape is %lld", a, (long long)clarke_lower_value(low, 0)->integer[a]);
    dims[a] = (size_t)clarke_lower_value(low, 0)->integer[a];
  }
  if (!whole)
    return clarke_lower_floats_filled(low, fill != NULL ? fill->t.dtype : CLARKE_F32, rank, dims, fill != NULL ? fill->t.real[0] : 0, err);
  out = clarke_lower_integers_made(low, CLARKE_I64, rank, dims, err);
  if (out == NULL)
    return failed(err);
  for (size_t a = 0; a < rank; a++)
    count *= dims[a];
  for (size_t e = 0; e < count; e++)
    out[e] = fill->t.integer[0];
  return CLARKE_OK;
}

const clarke_op clarke_ops_shape[] = {
  {.name = "Shape", .forms = {{7, 1, 1, 1, NULL}, {15, 1, 1, 1, "end:i start:i"}}, .lower = lower_shape, .batch = CLARKE_BATCH_ANY},
  {.name = "Size", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_size, .batch = CLARKE_BATCH_ANY},
  {.name = "Range", .forms = {{11, 3, 3, 1, NULL}}, .lower = lower_range, .batch = CLARKE_BATCH_ANY},
  {.name = "ReduceProd", .forms = {{7, 1, 1, 1, "axes:I keepdims:b"}, {18, 1, 2, 1, "keepdims:b noop_with_empty_axes:b"}},
   .lower = lower_product, .batch = CLARKE_BATCH_ANY},
  {.name = "ConstantOfShape", .forms = {{9, 1, 1, 1, "value:t"}}, .lower = lower_filled, .batch = CLARKE_BATCH_ANY},
  {.name = NULL},
};
