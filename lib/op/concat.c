/* Concat along an axis of a sample: the sum of its operands, each 0 outside its own part. */
#include "op/axes.h"
#include "op/integers.h"
#include "op/lower.h"

#include <string.h>

#define MOST_INPUTS 1024

typedef struct {
  size_t axis, rank, dims[CLARKE_MAX_WHOLE]; /* of the output, whole */
  size_t lead;
} concatenation;

/* Input i's extent along the axis, which the output grows by. */
static clarke_status
read_operand(concatenation *c, clarke_lowering *low, size_t i, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank;
  clarke_status status = CLARKE_OK;
  bool shared = false;

  if (!clarke_lower_has(low, i))
    return clarke_lower_fail(low, err, "input %zu is missing", i);
  if (clarke_lower_value(low, i)->constant && low->graph->together > 1)
    status = clarke_axes_shared(low, i, 0, &shared, err);
  if (status != CLARKE_OK)
    return status;
  if (clarke_lower_value(low, i)->constant && low->graph->together > 1 && !shared)
    return clarke_lower_fail(low, err, "input %zu is a constant, which has not the axis of all samples; an Expand of one sample's "
                                       "entries to all would have it: torch.onnx.export(dynamo=True, dynamic_shapes=...) leaves it in the "
                                       "file", i);
  if (clarke_lower_value(low, i)->constant)
    status = clarke_lower_weight(low, i, err);
  if (status != CLARKE_OK)
    return status;
  if (clarke_lower_value(low, i)->count == 0)
    return clarke_lower_fail(low, err, "input %zu has no entries", i);
  rank = clarke_axes_whole(low, i, dims);
  for (size_t a = 0; a < rank && rank == c->rank; a++)
    if (a != c->axis && dims[a] != c->dims[a])
      return clarke_lower_fail(low, err, "input %zu has %zu entries along axis %zu; expected %zu", i,
                               dims[a], a, c->dims[a]);
  if (rank != c->rank)
    return clarke_lower_fail(low, err, "input %zu has %zu axes; expected %zu", i, rank, c->rank);
  if (dims[c->axis] > CLARKE_MAX_ENTRIES - c->dims[c->axis])
    return clarke_lower_fail(low, err, "an axis of over %zu entries", CLARKE_MAX_ENTRIES);
  c->dims[c->axis] += dims[c->axis];
  return CLARKE_OK;
}

/* The shape of the output, after the first activation but for the axis. */
static clarke_status
read_operands(concatenation *c, clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *axis = clarke_model_attr(low->node, "axis");
  size_t first = 0;
  clarke_status status;

  while (first < low->n_in && (low->in[first] == CLARKE_NONE ||
                               clarke_lower_value(low, first)->constant))
    first++;
  if (first == low->n_in)
    return clarke_lower_fail(low, err, "only constants; expected an activation among the inputs");
  if (axis == NULL)
    return clarke_lower_fail(low, err, "axis is missing");
  c->lead = clarke_axes_lead(low, first);
  c->rank = clarke_axes_whole(low, first, c->dims);
  status = clarke_axes_resolve(low, axis->i, c->rank, &c->axis, err);
  if (status != CLARKE_OK)
    return status;
  if (c->axis < c->lead)
    return clarke_lower_fail(low, err, "axis %lld is the batch; expected an axis of a sample",
                             (long long)axis->i);
  c->dims[c->axis] = 0;
  for (size_t i = 0; status == CLARKE_OK && i < low->n_in; i++)
    status = read_operand(c, low, i, err);
  return status;
}

/* Operand i's part of the axis begins at `start`; *start becomes its end. */
static clarke_status
place(const concatenation *c, clarke_lowering *low, clarke_step *s, size_t i, size_t *start,
      clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], inner = 1, count = low->graph->values[s->out].count;
  size_t *map;

  clarke_axes_whole(low, i, dims);
  if (dims[c->axis] == c->dims[c->axis])
    return CLARKE_OK;
  map = clarke_lower_map(low, s, i, count, err);
  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  for (size_t a = c->axis + 1; a < c->rank; a++)
    inner *= c->dims[a];
  for (size_t f = 0; f < count; f++) {
    size_t at = f / inner % c->dims[c->axis], outer = f / inner / c->dims[c->axis];
    bool inside = at >= *start && at - *start < dims[c->axis];

    map[f] = inside ? (outer * dims[c->axis] + at - *start) * inner + f % inner : CLARKE_NONE;
  }
  *start += dims[c->axis];
  return CLARKE_OK;
}

static clarke_status
lower_concat(clarke_lowering *low, clarke_error *err)
{
  concatenation c;
  size_t start = 0;
  clarke_step *s;
  clarke_status status;

  if (clarke_lower_of_integers(low))
    return clarke_lower_integers_joined(low, err);
  status = read_operands(&c, low, err);
  if (status != CLARKE_OK)
    return status;
  s = clarke_lower_step(low, CLARKE_SUM, low->n_in, c.rank - c.lead, c.dims + c.lead, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  for (size_t i = 0; status == CLARKE_OK && i < low->n_in; i++)
    status = place(&c, low, s, i, &start, err);
  return status == CLARKE_OK ? clarke_lower_done(low, s->out, err) : status;
}

const clarke_op clarke_ops_concat[] = {
  {.name = "Concat", .forms = {{7, 1, MOST_INPUTS, 1, "axis:i"}}, .lower = lower_concat},
  {.name = NULL},
};
