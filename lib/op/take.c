/* Slice, Split, Gather by constant indices: some entries along an axis of a sample, or of a constant. */
#include "op/take.h"
#include "op/axes.h"
#include "op/identity.h"
#include "op/lower.h"

#include <stdlib.h>
#include <string.h>

/* Which entries of input 0 along an axis, and the axes that stand in its place: rank of them. */
typedef struct {
  size_t axis, n, *entry;
  size_t rank, dims[CLARKE_MAX_RANK];
} choice;

static size_t *
choice_map(const choice *c, const clarke_lowering *low, size_t before, size_t length, size_t behind, clarke_error *err)
{
  const size_t count = before * c->n * behind;
  size_t *map = NULL;

  if (count > CLARKE_MAX_MAP || !clarke_lower_affordable(low->graph, count)) {
    clarke_lower_too_large(low, err);
    return NULL;
  }
  map = malloc((count + 1) * sizeof *map);
  if (map == NULL)
    clarke_lower_no_memory(low, err);
  for (size_t f = 0; map != NULL && f < count; f++)
    map[f] = (f / behind / c->n * length + c->entry[f / behind % c->n]) * behind + f % behind;
  return map;
}

static clarke_status
take(clarke_lowering *low, const choice *c, clarke_error *err)
{
  clarke_batch_axis batch = {.inner = 1};
  size_t in[CLARKE_MAX_WHOLE], out[2 * CLARKE_MAX_WHOLE], rank = clarke_axes_whole(low, 0, in), before = 1, behind = 1;
  const bool batched = clarke_axes_lead(low, 0) == 1;
  size_t *map;
  clarke_status status = clarke_axes_apart(low, 0, c->axis, err);

  if (status != CLARKE_OK)
    return status;
  if (rank + c->rank - 1 > CLARKE_MAX_WHOLE)
    return clarke_lower_fail(low, err, "more than %d axes", CLARKE_MAX_RANK);
  for (size_t a = 0; a < rank; a++)
    *(a < c->axis ? &before : &behind) *= a == c->axis ? 1 : in[a];
  map = choice_map(c, low, before, in[c->axis], behind, err);
  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  memcpy(out, in, c->axis * sizeof *out);
  memcpy(out + c->axis, c->dims, c->rank * sizeof *out);
  memcpy(out + c->axis + c->rank, in + c->axis + 1, (rank - c->axis - 1) * sizeof *out);
  rank = rank + c->rank - 1;
  if (batched) {
    batch = clarke_lower_value(low, 0)->batch;
    batch.axis = batch.axis > c->axis ? batch.axis + c->rank - 1 : batch.axis;
    rank = clarke_axes_of_sample(&batch, rank, out);
  }
  return clarke_lower_moved(low, rank, out, map, &batch, err);
}

/* The entries from start on, `step` apart, n of them, which become an axis. */
static clarke_status
take_range(clarke_lowering *low, size_t axis, size_t start, size_t step, size_t n, clarke_error *err)
{
  choice c = {.axis = axis, .n = n, .rank = 1, .dims = {n}};
  clarke_status status;

  if (n == 0)
    return clarke_lower_fail(low, err, "the output would have no entries");
  c.entry = malloc((n + 1) * sizeof *c.entry);
  if (c.entry == NULL)
    return clarke_lower_no_memory(low, err);
  for (size_t i = 0; i < n; i++)
    c.entry[i] = start + i * step;
  status = take(low, &c, err);
  free(c.entry);
  return status;
}

/* An end of a slice: from the end when it is negative, and no farther than the axis. */
static size_t
bounded(int64_t at, size_t length)
{
  if (at < 0)
    at = at < -(int64_t)length ? 0 : at + (int64_t)length;
  return at > (int64_t)length ? length : (size_t)at;
}

typedef struct {
  const int64_t *list;
  size_t n;
  bool given;
} integers;

/* Slices of one axis at a time would need values of their own: one axis is taken. Others must be whole. */
static clarke_status
lower_slice(clarke_lowering *low, clarke_error *err)
{
  static const char *const name[] = {"starts", "ends", "axes", "steps"};
  size_t dims[CLARKE_MAX_WHOLE], rank, axis, chosen = CLARKE_NONE, from = 0, to = 0, by = 1;
  integers in[4];
  clarke_status status = CLARKE_OK;

  if (!clarke_lower_has(low, 0))
    return clarke_lower_fail(low, err, "input 0 is missing");
  rank = clarke_axes_whole(low, 0, dims);
  for (size_t i = 0; i < 4 && status == CLARKE_OK; i++)
    status = clarke_axes_list(low, name[i], i + 1, &in[i].list, &in[i].n, &in[i].given, err);
  if (status != CLARKE_OK)
    return status;
  for (size_t i = 1; i < 4; i++)
    if (!in[0].given || (in[i].given ? in[i].n != in[0].n : i == 1) || in[0].n > rank)
      return clarke_lower_fail(low, err, "starts, ends, axes and steps must be lists of one length");
  for (size_t i = 0; i < in[0].n && status == CLARKE_OK; i++) {
    const int64_t step = in[3].given ? in[3].list[i] : 1;
    size_t start, end;

    status = clarke_axes_resolve(low, in[2].given ? in[2].list[i] : (int64_t)i, rank, &axis, err);
    if (status != CLARKE_OK)
      return status;
    if (step < 1)
      return clarke_lower_fail(low, err, "a step of %lld; expected 1 or more", (long long)step);
    if (axis == clarke_axes_batch(low, 0) && in[0].list[i] == 0 && step == 1 && in[1].list[i] >= (int64_t)low->graph->together)
      continue; /* all samples */
    start = bounded(in[0].list[i], dims[axis]);
    end = bounded(in[1].list[i], dims[axis]);
    if (start == 0 && end == dims[axis] && step == 1 && axis != clarke_axes_batch(low, 0))
      continue;
    if (chosen != CLARKE_NONE)
      return clarke_lower_fail(low, err, "axes %zu and %zu are both cut; cut one after the other", chosen, axis);
    chosen = axis;
    from = start;
    to = end;
    by = (size_t)step < dims[axis] ? (size_t)step : dims[axis] + 1;
  }
  if (chosen == CLARKE_NONE)
    return clarke_lower_copy(low, err);
  return take_range(low, chosen, from, by, from < to ? (to - from + by - 1) / by : 0, err);
}

/* The length of part k, of n. */
static clarke_status
part_length(const clarke_lowering *low, const integers *parts, size_t n, size_t k, size_t length, size_t *part,
            clarke_error *err)
{
  const size_t each = (length + n - 1) / n;

  if (parts->given) {
    if (parts->n != n || parts->list[k] < 0 || (size_t)parts->list[k] > length)
      return clarke_lower_fail(low, err, "the parts do not fit an axis of %zu entries", length);
    *part = (size_t)parts->list[k];
    return CLARKE_OK;
  }
  if (low->opset < 18 && length % n != 0)
    return clarke_lower_fail(low, err, "%zu entries in %zu equal parts", length, n);
  *part = k * each >= length ? 0 : length - k * each < each ? length - k * each : each;
  return CLARKE_OK;
}

static clarke_status
lower_split(clarke_lowering *low, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank, axis = 0, start = 0, n = low->node->n_out;
  integers parts;
  clarke_status status;

  if (!clarke_lower_has(low, 0))
    return clarke_lower_fail(low, err, "input 0 is missing");
  rank = clarke_axes_whole(low, 0, dims);
  status = clarke_axes_list(low, "split", 1, &parts.list, &parts.n, &parts.given, err);
  if (status == CLARKE_OK)
    status = clarke_axes_resolve(low, clarke_lower_int(low, "axis", 0), rank, &axis, err);
  if (status == CLARKE_OK && clarke_lower_int(low, "num_outputs", (int64_t)n) != (int64_t)n)
    status = clarke_lower_fail(low, err, "num_outputs is not the number of outputs, %zu", n);
  for (size_t k = 0; k < n && status == CLARKE_OK; k++) {
    size_t part = 0;

    status = part_length(low, &parts, n, k, dims[axis], &part, err);
    if (status == CLARKE_OK && part > dims[axis] - start)
      status = clarke_lower_fail(low, err, "the parts do not fit an axis of %zu entries", dims[axis]);
    if (status == CLARKE_OK && low->node->out[k][0] != '\0') {
      status = take_range(low, axis, start, 1, part, err);
      if (status == CLARKE_OK)
        status = clarke_lower_output(low, k, low->graph->n_values - 1, err);
    }
    start += status == CLARKE_OK ? part : 0;
  }
  if (status == CLARKE_OK && start != dims[axis])
    status = clarke_lower_fail(low, err, "the parts do not fit an axis of %zu entries", dims[axis]);
  return status;
}

clarke_status
clarke_lower_take(clarke_lowering *low, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank;
  const int64_t *list;
  choice c = {.n = 0};
  clarke_status status;

  if (!clarke_lower_has(low, 0))
    return clarke_lower_fail(low, err, "input 0 is missing");
  status = clarke_lower_integers(low, 1, &list, &c.n, err);
  if (status != CLARKE_OK)
    return status;
  rank = clarke_axes_whole(low, 0, dims);
  c.rank = clarke_lower_value(low, 1)->rank;
  memcpy(c.dims, clarke_lower_value(low, 1)->dims, c.rank * sizeof *c.dims);
  status = clarke_axes_resolve(low, clarke_lower_int(low, "axis", 0), rank, &c.axis, err);
  if (status == CLARKE_OK)
    status = clarke_axes_apart(low, 0, c.axis, err);
  if (status == CLARKE_OK && c.n == 0)
    status = clarke_lower_fail(low, err, "the output would have no entries");
  if (status != CLARKE_OK)
    return status;
  c.entry = malloc((c.n + 1) * sizeof *c.entry);
  if (c.entry == NULL)
    return clarke_lower_no_memory(low, err);
  for (size_t i = 0; i < c.n && status == CLARKE_OK; i++) {
    const int64_t at = list[i] < 0 ? list[i] + (int64_t)dims[c.axis] : list[i];

    if (at < 0 || at >= (int64_t)dims[c.axis])
      status = clarke_lower_fail(low, err, "index %lld is out of range for an axis of %zu entries", (long long)list[i],
                                 dims[c.axis]);
    else
      c.entry[i] = (size_t)at;
  }
  if (status == CLARKE_OK)
    status = take(low, &c, err);
  free(c.entry);
  return status;
}

#define MOST_OUTPUTS 1024

const clarke_op clarke_ops_take[] = {
  {.name = "Slice",
   .forms = {{7, 1, 1, 1, "axes:I ends:I starts:I"}, {10, 3, 5, 1, NULL}},
   .lower = lower_slice, .batch = CLARKE_BATCH_ANY},
  {.name = "Split",
   .forms = {{7, 1, 1, MOST_OUTPUTS, "axis:i split:I"}, {13, 1, 2, MOST_OUTPUTS, "axis:i"},
             {18, 1, 2, MOST_OUTPUTS, "axis:i num_outputs:i"}},
   .lower = lower_split, .batch = CLARKE_BATCH_ANY},
  {.name = NULL},
};
