/* Operators along an axis that are others: Hardmax, ArgMax and ArgMin of comparisons, Compress a Gather, TensorScatter a scattering; and Mod of floats. */
#include "op/along.h"
#include "op/axes.h"
#include "op/integers.h"
#include "op/lower.h"
#include "op/node.h"

#include <stdlib.h>
#include <string.h>

#define MOST_SLICES 1024 /* of lengths that differ */

#define MOST_COMPARED 256

/* A line's entries, compared: x, along the axis, n of them. Of equal ones the first counts as larger, or the last. */
typedef struct {
  size_t x, axis, n;
  bool last;
} contest;

/* 1 where what is at [a, a + n) along the axis is larger than what is at [b, b + n); or as large, where it counts as larger then. */
static size_t
larger(clarke_lowering *low, const contest *c, size_t a, size_t b, size_t n, clarke_error *err)
{
  const clarke_attr to = clarke_inner_int("to", 1);
  const char *how = (a < b) != c->last ? "GreaterOrEqual" : "Greater";
  const size_t x = clarke_inner_sliced(low, c->x, c->axis, a, a + n, err);
  const size_t truth = clarke_inner_of(low, how, x, clarke_inner_sliced(low, c->x, c->axis, b, b + n, err), err);

  return truth != CLARKE_NONE ? clarke_inner_node(low, "Cast", &truth, 1, &to, 1, err) : truth;
}

/* 1 at the largest, else 0: each entry is compared with that k places on, round the axis. */
static size_t
find_largest(clarke_lowering *low, const contest *c, clarke_error *err)
{
  size_t y = CLARKE_NONE;

  if (c->n == 1)
    return clarke_inner_of(low, "Add", clarke_inner_of(low, "Mul", c->x, clarke_inner_number(low, 0, err), err),
                           clarke_inner_number(low, 1, err), err);
  for (size_t k = 1; k < c->n; k++) {
    const size_t parts[2] = {larger(low, c, 0, k, c->n - k, err), larger(low, c, c->n - k, 0, k, err)};
    const size_t all = clarke_inner_joined(low, parts, 2, c->axis, err);

    y = k == 1 ? all : clarke_inner_of(low, "Mul", y, all, err);
    if (y == CLARKE_NONE)
      break;
  }
  return y;
}

static clarke_status
read_contest(clarke_lowering *low, contest *c, int64_t axis, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank;
  clarke_status status = clarke_lower_first(low, err);

  if (status != CLARKE_OK)
    return status;
  rank = clarke_axes_whole(low, 0, dims);
  status = clarke_axes_resolve(low, axis, rank, &c->axis, err);
  if (status == CLARKE_OK)
    status = clarke_axes_apart(low, 0, c->axis, err);
  c->x = low->in[0];
  c->n = status == CLARKE_OK ? dims[c->axis] : 0;
  if (status == CLARKE_OK && (c->n < 1 || c->n > MOST_COMPARED))
    status = clarke_lower_fail(low, err, "%zu entries along the axis; from 1 to %d are compared", c->n, MOST_COMPARED);
  return status;
}

static clarke_status
lower_hardmax(clarke_lowering *low, clarke_error *err)
{
  const bool flattened = low->opset < 13;
  contest c = {.last = false};
  size_t dims[CLARKE_MAX_WHOLE];
  clarke_status status = read_contest(low, &c, clarke_lower_int(low, "axis", flattened ? 1 : -1), err);

  if (status == CLARKE_OK && flattened && c.axis + 1 != clarke_axes_whole(low, 0, dims))
    status = clarke_lower_fail(low, err, "before operator set 13 it is over all axes from axis on: only the last one is supported");
  return status == CLARKE_OK ? clarke_inner_done(low, 0, find_largest(low, &c, err), err) : status;
}

/* --- ArgMax, ArgMin --- */

/* The place of the one: places times ones, summed. */
static size_t
place_of_one(clarke_lowering *low, const contest *c, size_t ones, size_t rank, clarke_error *err)
{
  int64_t order[CLARKE_MAX_WHOLE];
  size_t places, n = 0;

  for (size_t a = 0; a < rank; a++)
    if (a != c->axis)
      order[n++] = (int64_t)a;
  order[n] = (int64_t)c->axis;
  ones = clarke_inner_transposed(low, ones, order, rank, err);
  if (ones == CLARKE_NONE || clarke_lower_made(low, 1, &c->n, &places, err) != CLARKE_OK)
    return CLARKE_NONE;
  for (size_t k = 0; k < c->n; k++)
    low->graph->values[places].real[k] = (double)k;
  return clarke_inner_of(low, "MatMul", ones, places, err);
}

static clarke_status
lower_place_of_largest(clarke_lowering *low, clarke_error *err)
{
  const bool smallest = strcmp(low->node->op_type, "ArgMin") == 0;
  contest c = {.last = clarke_lower_int(low, "select_last_index", 0) != 0};
  size_t dims[CLARKE_MAX_WHOLE], rank, y;
  clarke_status status = read_contest(low, &c, clarke_lower_int(low, "axis", 0), err);

  if (status != CLARKE_OK)
    return status;
  rank = clarke_axes_whole(low, 0, dims);
  c.x = smallest ? clarke_inner_function(low, "Neg", c.x, err) : c.x;
  y = place_of_one(low, &c, c.x != CLARKE_NONE ? find_largest(low, &c, err) : CLARKE_NONE, rank, err);
  if (y != CLARKE_NONE && clarke_lower_int(low, "keepdims", 1) != 0)
    y = clarke_inner_of(low, "Unsqueeze", y, clarke_inner_integers(low, &(int64_t){(int64_t)c.axis}, 1, err), err);
  if (y == CLARKE_NONE)
    return clarke_inner_failed(err);
  low->graph->values[y].holds = CLARKE_HOLDS_INTEGERS;
  low->graph->values[y].reach = (double)(c.n - 1);
  return clarke_inner_done(low, 0, y, err);
}

/* --- Compress --- */

/* The places that the condition, a list of truth values, names. */
static size_t
places_of(clarke_lowering *low, size_t length, clarke_error *err)
{
  const clarke_value *v = clarke_lower_value(low, 1);
  int64_t *list = calloc(v->count + 1, sizeof *list);
  size_t n = 0, value;

  if (list == NULL) {
    clarke_lower_no_memory(low, err);
    return CLARKE_NONE;
  }
  for (size_t i = 0; i < v->count; i++)
    if (v->integer[i] != 0)
      list[n++] = (int64_t)i;
  value = v->count <= length && n > 0 ? clarke_inner_integers(low, list, n, err) : CLARKE_NONE;
  if (v->count > length || n == 0)
    clarke_lower_fail(low, err, "a condition that is longer than the axis, or chooses nothing");
  free(list);
  return value;
}

static clarke_status
lower_compress(clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *along = clarke_model_attr(low->node, "axis");
  const int64_t flat = -1;
  size_t dims[CLARKE_MAX_WHOLE], rank, axis = 0, length = 1, x, list;
  clarke_attr attr = clarke_inner_int("axis", 0);
  clarke_status status = clarke_lower_first(low, err);

  if (status == CLARKE_OK && (!clarke_lower_of_truths(low, 1) || clarke_lower_value(low, 1)->rank != 1))
    status = clarke_lower_fail(low, err, "the condition is no constant list of truth values");
  if (status != CLARKE_OK)
    return status;
  rank = clarke_axes_of_run(low, 0, dims);
  if (along != NULL)
    status = clarke_axes_resolve(low, along->i, rank, &axis, err);
  if (status != CLARKE_OK)
    return status;
  for (size_t a = 0; a < rank; a++)
    length *= along == NULL || a == axis ? dims[a] : 1;
  attr.i = (int64_t)axis;
  x = along != NULL ? low->in[0] : clarke_inner_reshaped(low, low->in[0], &flat, 1, err);
  list = x != CLARKE_NONE ? places_of(low, length, err) : x;
  if (list == CLARKE_NONE)
    return clarke_inner_failed(err);
  return clarke_inner_done(low, 0, clarke_inner_node(low, "Gather", (size_t[]){x, list}, 2, &attr, 1, err), err);
}

/* --- TensorScatter --- */

typedef struct {
  size_t rank, axis, dims[CLARKE_MAX_WHOLE], update[CLARKE_MAX_WHOLE], n;
  const int64_t *first; /* of each sample the place of its first update; NULL: 0 */
  bool circular;
} writing;

static clarke_status
read_writing(writing *w, const clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *mode = clarke_model_attr(low->node, "mode");
  size_t n = 0;
  bool fits;
  clarke_status status = CLARKE_OK;

  w->circular = mode != NULL && strcmp(mode->s, "circular") == 0;
  if (mode != NULL && !w->circular && strcmp(mode->s, "linear") != 0)
    return clarke_lower_fail(low, err, "mode is '%.40s'; expected linear or circular", mode->s);
  w->rank = clarke_axes_of_run(low, 0, w->dims);
  fits = clarke_axes_of_run(low, 1, w->update) == w->rank;
  status = clarke_axes_resolve(low, clarke_lower_int(low, "axis", -2), w->rank, &w->axis, err);
  for (size_t a = 0; a < w->rank && fits && status == CLARKE_OK; a++)
    fits = a == w->axis ? w->update[a] <= w->dims[a] : w->update[a] == w->dims[a];
  if (status == CLARKE_OK && (!fits || w->axis == 0))
    status = clarke_lower_fail(low, err, "an update of other axes than the cache, or along the first axis");
  if (status == CLARKE_OK && clarke_lower_has(low, 2))
    status = clarke_lower_integers(low, 2, &w->first, &n, err);
  if (status == CLARKE_OK && w->first != NULL && (n != w->dims[0] || clarke_lower_value(low, 2)->rank != 1))
    status = clarke_lower_fail(low, err, "%zu write_indices; expected one for each of %zu samples", n, w->dims[0]);
  w->n = 1;
  for (size_t a = 0; a < w->rank; a++)
    w->n *= w->update[a];
  return status;
}

/* Entry i of the update goes to that entry of the cache; below 0: nowhere. */
static int64_t
place_of(const writing *w, size_t i)
{
  size_t index[CLARKE_MAX_WHOLE], rest = i, at = 0;
  const size_t length = w->dims[w->axis];

  for (size_t a = w->rank; a-- > 0; rest /= w->update[a])
    index[a] = rest % w->update[a];
  if (w->first != NULL) {
    const int64_t first = w->first[index[0]];

    if (first < 0 || first > INT32_MAX || (!w->circular && (size_t)first + index[w->axis] >= length))
      return -1;
    index[w->axis] = ((size_t)first + index[w->axis]) % length;
  }
  for (size_t a = 0; a < w->rank; a++)
    at = at * w->dims[a] + index[a];
  return (int64_t)at;
}

static size_t
list_places(const writing *w, clarke_lowering *low, clarke_error *err)
{
  int64_t *list = calloc(w->n + 1, sizeof *list);
  size_t value = CLARKE_NONE, i = 0;

  if (list == NULL) {
    clarke_lower_no_memory(low, err);
    return value;
  }
  while (i < w->n && (list[i] = place_of(w, i)) >= 0)
    i++;
  if (i < w->n)
    clarke_lower_fail(low, err, "write_indices name a place that the cache has not");
  else
    value = clarke_inner_integers(low, list, w->n, err);
  free(list);
  return value;
}

static clarke_status
lower_tensor_scatter(clarke_lowering *low, clarke_error *err)
{
  const int64_t flat = -1;
  int64_t shape[CLARKE_MAX_WHOLE];
  size_t in[3];
  writing w = {0};
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < 2 && status == CLARKE_OK; i++)
    if (!clarke_lower_has(low, i) || (low->graph->batched && clarke_axes_batch(low, i) != CLARKE_NONE))
      status = clarke_lower_fail(low, err, "an input is missing, or has the samples on an axis: read the batch whole (--batch-axis none)");
  if (status == CLARKE_OK)
    status = read_writing(&w, low, err);
  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < 2; i++) {
    in[2 * i] = low->graph->values[low->in[i]].constant ? clarke_inner_function(low, "Sum", low->in[i], err) : low->in[i];
    in[2 * i] = clarke_inner_reshaped(low, in[2 * i], &flat, 1, err);
    if (in[2 * i] == CLARKE_NONE)
      return clarke_inner_failed(err);
  }
  in[1] = list_places(&w, low, err);
  if (in[1] == CLARKE_NONE)
    return clarke_inner_failed(err);
  for (size_t a = 0; a < w.rank; a++)
    shape[a] = (int64_t)w.dims[a];
  in[0] = clarke_inner_node(low, "ScatterElements", in, 3, NULL, 0, err);
  return clarke_inner_done(low, 0, clarke_inner_reshaped(low, in[0], shape, w.rank, err), err);
}

/* --- Sequences turned round --- */

/* A value whose first entries along the axis, so many, are in the other order; CLARKE_NONE when it fails. */
static size_t
turned(clarke_lowering *low, size_t value, size_t axis, size_t length, size_t n, clarke_error *err)
{
  const clarke_attr along = clarke_inner_int("axis", (int64_t)axis);
  int64_t *list = malloc((n + 1) * sizeof *list);
  size_t places;

  if (list == NULL || value == CLARKE_NONE) {
    free(list);
    return value == CLARKE_NONE ? value : (clarke_lower_no_memory(low, err), CLARKE_NONE);
  }
  for (size_t i = 0; i < n; i++)
    list[i] = (int64_t)(i < length ? length - 1 - i : i);
  places = clarke_inner_integers(low, list, n, err);
  free(list);
  return places != CLARKE_NONE ? clarke_inner_node(low, "Gather", (size_t[]){value, places}, 2, &along, 1, err) : places;
}

/* ReverseSequence: each slice of the batch's axis has a length of its own. Where all are one, the slices may be samples. */
static clarke_status
lower_reverse(clarke_lowering *low, clarke_error *err)
{
  const int64_t batch = clarke_lower_int(low, "batch_axis", 1), time = clarke_lower_int(low, "time_axis", 0), *length;
  size_t dims[CLARKE_MAX_WHOLE], part[MOST_SLICES], n;
  bool fit, same = true;
  clarke_status status = clarke_lower_first(low, err);

  if (status == CLARKE_OK)
    status = clarke_lower_integers(low, 1, &length, &n, err);
  if (status != CLARKE_OK)
    return status;
  fit = clarke_axes_of_run(low, 0, dims) > 1 && batch + time == 1 && batch >= 0 && time >= 0 && n == dims[batch] && n > 0;
  for (size_t k = 0; k < n && fit; k++) {
    fit = length[k] >= 0 && (uint64_t)length[k] <= dims[time];
    same = same && length[k] == length[0];
  }
  if (!fit || (!same && n > MOST_SLICES))
    return clarke_lower_fail(low, err, "batch_axis and time_axis are not 0 and 1, or there is not a length for each slice, from 0 to the axis', or over %d "
                                       "lengths differ", MOST_SLICES);
  if (same)
    return clarke_inner_done(low, 0, turned(low, low->in[0], (size_t)time, (size_t)length[0], dims[time], err), err);
  for (size_t k = 0; k < n; k++) { /* the list may move as values are made: it is the node's input */
    const size_t own = (size_t)clarke_lower_value(low, 1)->integer[k];

    part[k] = turned(low, clarke_inner_sliced(low, low->in[0], (size_t)batch, k, k + 1, err), (size_t)time, own, dims[time], err);
    if (part[k] == CLARKE_NONE)
      return clarke_inner_failed(err);
  }
  return clarke_inner_done(low, 0, clarke_inner_joined(low, part, n, (size_t)batch, err), err);
}

/* --- Mod of floats --- */

/* a - b w, w the whole number below a / b, or towards 0. */
clarke_status
clarke_lower_modulo(clarke_lowering *low, clarke_error *err)
{
  const int64_t towards = clarke_lower_int(low, "fmod", 0);
  const clarke_attr to[2] = {clarke_inner_int("to", 7), clarke_inner_int("to", 1)};
  size_t w;

  if (!clarke_lower_has(low, 0) || !clarke_lower_has(low, 1))
    return clarke_lower_fail(low, err, "an input is missing");
  if ((towards != 0 && towards != 1) || (towards == 0 && low->opset < 28))
    return clarke_lower_fail(low, err, "fmod is %lld; of floats expected 1, from operator set 28 on also 0", (long long)towards);
  w = clarke_inner_of(low, "Div", low->in[0], low->in[1], err);
  if (towards == 0)
    w = clarke_inner_function(low, "Floor", w, err);
  for (size_t i = 0; i < 2 && towards == 1 && w != CLARKE_NONE; i++)
    w = clarke_inner_node(low, "Cast", &w, 1, &to[i], 1, err);
  return clarke_inner_done(low, 0, clarke_inner_of(low, "Sub", low->in[0], clarke_inner_of(low, "Mul", w, low->in[1], err), err), err);
}

#define PLACE_OF_LARGEST \
  .forms = {{7, 1, 1, 1, "axis:i keepdims:b"}, {12, 1, 1, 1, "axis:i keepdims:b select_last_index:b"}}, \
  .lower = lower_place_of_largest, .batch = CLARKE_BATCH_ANY

const clarke_op clarke_ops_along[] = {
  {.name = "ArgMax", PLACE_OF_LARGEST},
  {.name = "ArgMin", PLACE_OF_LARGEST},
  {.name = "Compress", .forms = {{9, 2, 2, 1, "axis:i"}}, .lower = lower_compress, .batch = CLARKE_BATCH_ANY},
  {.name = "Hardmax", .forms = {{7, 1, 1, 1, "axis:i"}}, .lower = lower_hardmax, .batch = CLARKE_BATCH_ANY},
  {.name = "ReverseSequence", .forms = {{10, 2, 2, 1, "batch_axis:i time_axis:i"}}, .lower = lower_reverse, .batch = CLARKE_BATCH_ANY},
  {.name = "TensorScatter", .forms = {{24, 2, 3, 1, "axis:i mode:s"}}, .lower = lower_tensor_scatter, .batch = CLARKE_BATCH_ANY},
  {.name = NULL},
};
