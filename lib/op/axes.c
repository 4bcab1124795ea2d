#include "op/axes.h"
#include "op/lower.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t
clarke_axes_lead(const clarke_lowering *low, size_t i)
{
  return !clarke_lower_value(low, i)->constant && low->graph->batched && !clarke_lower_value(low, i)->batch.none ? 1 : 0;
}

size_t
clarke_axes_whole(const clarke_lowering *low, size_t i, size_t *dims)
{
  const clarke_value *v = clarke_lower_value(low, i);
  const size_t axis = clarke_axes_lead(low, i) == 1 && !v->batch.merged ? v->batch.axis : v->rank;

  memcpy(dims, v->dims, axis * sizeof *dims);
  dims[axis] = 1;
  if (axis < v->rank)
    memcpy(dims + axis + 1, v->dims + axis, (v->rank - axis) * sizeof *dims);
  return v->rank + (clarke_axes_lead(low, i) == 1 && !v->batch.merged ? 1 : 0);
}

size_t
clarke_axes_of_run(const clarke_lowering *low, size_t i, size_t *dims)
{
  const size_t rank = clarke_axes_whole(low, i, dims);

  if (clarke_axes_lead(low, i) == 1)
    dims[clarke_axes_batch(low, i)] *= low->graph->together;
  return rank;
}

size_t
clarke_axes_batch(const clarke_lowering *low, size_t i)
{
  return clarke_axes_lead(low, i) == 1 ? clarke_lower_value(low, i)->batch.axis : CLARKE_NONE;
}

size_t
clarke_axes_of_sample(const clarke_batch_axis *batch, size_t rank, size_t *dims)
{
  if (batch->merged || batch->none)
    return rank;
  memmove(dims + batch->axis, dims + batch->axis + 1, (rank - batch->axis - 1) * sizeof *dims);
  return rank - 1;
}

size_t
clarke_axes_of_input(const clarke_lowering *low, size_t rank, size_t *dims)
{
  return clarke_axes_lead(low, 0) == 1 ? clarke_axes_of_sample(&clarke_lower_value(low, 0)->batch, rank, dims) : rank;
}

/* How many entries of a sample lie behind the batch axis, in the order of all. */
static size_t
entries_behind(const clarke_value *v)
{
  size_t n = v->batch.merged ? v->batch.inner : 1;

  for (size_t a = v->batch.axis + (v->batch.merged ? 1 : 0); a < v->rank; a++)
    n *= v->dims[a];
  return n;
}

/* Entries keep their order, so the batch is where so many entries of a sample lie behind it. An axis of nothing else is
 * preferred to one that it is merged with. */
clarke_status
clarke_axes_reshaped(const clarke_lowering *low, size_t i, size_t rank, size_t *dims, clarke_batch_axis *batch,
                     clarke_error *err)
{
  const size_t rows = low->graph->together, behind = entries_behind(clarke_lower_value(low, i));
  size_t suffix = 1;
  bool found = false;

  for (size_t a = rank; a-- > 0; suffix *= dims[a]) {
    const bool fits = suffix > 0 && behind % suffix == 0 && dims[a] % rows == 0 && (dims[a] / rows * suffix) % behind == 0;
    const bool alone = dims[a] == rows;

    if (!fits || (found && !alone))
      continue;
    *batch = (clarke_batch_axis){.merged = !alone, .axis = a, .inner = alone ? 1 : behind / suffix};
    found = true;
  }
  if (!found)
    return clarke_lower_fail(low, err, "no axis of the shape holds that of all %zu samples whole: samples would be mixed", rows);
  dims[batch->axis] /= rows;
  return CLARKE_OK;
}

clarke_status
clarke_axes_agree(const clarke_lowering *low, size_t n, size_t rank, clarke_batch_axis *batch, clarke_error *err)
{
  size_t whole[CLARKE_MAX_WHOLE];
  bool begun = false;

  *batch = (clarke_batch_axis){.inner = 1};
  for (size_t i = 0; i < n; i++) {
    const clarke_value *v = clarke_lower_value(low, i);
    clarke_batch_axis here = v->batch;

    if (clarke_axes_lead(low, i) == 0)
      continue;
    here.axis += rank - clarke_axes_whole(low, i, whole);
    if (begun && (here.axis != batch->axis || here.merged != batch->merged || (here.merged && here.inner != batch->inner)))
      return clarke_lower_fail(low, err, "the inputs have the batch on axis %zu and on axis %zu, or merged otherwise",
                               batch->axis, here.axis);
    *batch = here;
    begun = true;
  }
  batch->none = !begun;
  for (size_t i = 0; i < n && begun; i++) {
    const clarke_value *v = clarke_lower_value(low, i);
    const size_t from = rank - v->rank;

    if (clarke_axes_lead(low, i) == 0 && batch->axis >= from && v->dims[batch->axis - from] != 1
        && (!batch->merged || low->graph->together != 1))
      return clarke_lower_fail(low, err, "%s of %zu entries along the batch axis: export with a batch of one, or record the step",
                               v->constant ? "a constant" : "what is computed of constants,", v->dims[batch->axis - from]);
  }
  return CLARKE_OK;
}

clarke_status
clarke_axes_rows(const clarke_lowering *low, size_t i, clarke_error *err)
{
  const size_t axis = clarke_axes_batch(low, i);

  return axis == CLARKE_NONE || axis == 0
           ? CLARKE_OK
           : clarke_lower_fail(low, err, "input '%s' has the batch on axis %zu; this operator takes it as the first axis only",
                               low->node->in[i], axis);
}

clarke_status
clarke_axes_apart(const clarke_lowering *low, size_t i, size_t axis, clarke_error *err)
{
  if (axis == clarke_axes_batch(low, i))
    return clarke_lower_fail(low, err, "axis %zu is the batch, or merged with it: samples would be mixed", axis);
  return CLARKE_OK;
}

void
clarke_axes_text(const clarke_lowering *low, size_t i, char text[CLARKE_SHAPE_TEXT])
{
  const clarke_value *v = clarke_lower_value(low, i);
  size_t dims[CLARKE_MAX_WHOLE], rank = clarke_axes_whole(low, i, dims), used = 1;

  text[0] = '(';
  for (size_t a = 0; a < rank; a++) {
    const bool samples = a == clarke_axes_batch(low, i);

    if (!samples || v->batch.merged)
      used += (size_t)snprintf(text + used, CLARKE_SHAPE_TEXT - used, "%zu%s", dims[a], samples ? " " : "");
    used += (size_t)snprintf(text + used, CLARKE_SHAPE_TEXT - used, "%s%s", samples ? "N" : "", a + 1 < rank ? ", " : "");
  }
  snprintf(text + used, CLARKE_SHAPE_TEXT - used, ")");
}

clarke_status
clarke_axes_shared(clarke_lowering *low, size_t i, size_t axis, bool *shared, clarke_error *err)
{
  const clarke_value *v = clarke_lower_value(low, i);
  const bool number = v->real != NULL && v->parameter == CLARKE_NONE && !v->initializer; /* one that nothing moves */
  size_t dims[CLARKE_MAX_RANK], behind = 1, length, count, *map, value;
  clarke_status status;

  *shared = v->constant && (v->origin != NULL || number) && axis < v->rank && v->count > 0 && v->dims[axis] == low->graph->together;
  if (!*shared)
    return CLARKE_OK;
  for (size_t a = axis + 1; a < v->rank; a++)
    behind *= v->dims[a];
  length = v->dims[axis];
  for (size_t e = 0; e < v->count && *shared; e++) {
    const size_t first = e / behind / length * length * behind + e % behind;

    *shared = number ? v->real[e] == v->real[first] : v->origin[e] == v->origin[first];
  }
  if (!*shared)
    return CLARKE_OK;
  count = v->count / length;
  map = malloc((count + 1) * sizeof *map);
  if (map == NULL)
    return clarke_lower_no_memory(low, err);
  for (size_t e = 0; e < count; e++)
    map[e] = e / behind * length * behind + e % behind;
  memcpy(dims, v->dims, v->rank * sizeof *dims);
  dims[axis] = 1;
  status = clarke_lower_rearranged_constant(low, i, v->rank, dims, map, &value, err);
  if (status == CLARKE_OK)
    low->in[i] = value;
  return status;
}

clarke_status
clarke_axes_resolve(const clarke_lowering *low, int64_t number, size_t rank, size_t *axis,
                    clarke_error *err)
{
  int64_t a = number < 0 ? number + (int64_t)rank : number;

  if (a < 0 || (size_t)a >= rank)
    return clarke_lower_fail(low, err, "axis %lld is out of range for %zu axes", (long long)number,
                             rank);
  *axis = (size_t)a;
  return CLARKE_OK;
}

clarke_status
clarke_axes_list(const clarke_lowering *low, const char *name, size_t i, const int64_t **list,
                 size_t *n, bool *given, clarke_error *err)
{
  const clarke_attr *attr = clarke_model_attr(low->node, name);

  *list = attr != NULL ? attr->ints : NULL;
  *n = attr != NULL ? attr->n : 0;
  *given = attr != NULL || clarke_lower_has(low, i);
  return attr == NULL && *given ? clarke_lower_integers(low, i, list, n, err) : CLARKE_OK;
}

clarke_status
clarke_axes_chosen(const clarke_lowering *low, const int64_t *list, size_t n, size_t rank,
                   bool *chosen, clarke_error *err)
{
  for (size_t a = 0; a < rank; a++)
    chosen[a] = false;
  for (size_t i = 0; i < n; i++) {
    int64_t a = list[i] < 0 ? list[i] + (int64_t)rank : list[i];

    if (a < 0 || (size_t)a >= rank || chosen[a])
      return clarke_lower_fail(low, err, "axis %lld is out of range or given twice",
                               (long long)list[i]);
    chosen[a] = true;
  }
  return CLARKE_OK;
}
