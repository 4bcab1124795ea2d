/* Concat along an axis of a sample: the sum of its operands, each 0 outside its own part. */
#include "op/axes.h"
#include "op/floats.h"
#include "op/integers.h"
#include "op/lower.h"

#include <string.h>

#define MOST_INPUTS 1024

typedef struct {
  size_t axis, rank, dims[CLARKE_MAX_WHOLE]; /* of the output, whole */
  clarke_batch_axis batch;                   /* of the activations */
} concatenation;

/* A constant must have one sample's entries; activations must have the batch in one place. */
static clarke_status
check_batch(const concatenation *c, clarke_lowering *low, size_t i, clarke_error *err)
{
  const clarke_batch_axis *batch = &clarke_lower_value(low, i)->batch;
  bool shared = false;
  clarke_status status;

  if (!low->graph->batched || (c->batch.none && clarke_axes_lead(low, i) == 0))
    return CLARKE_OK;
  if (batch->none != c->batch.none && !clarke_lower_value(low, i)->constant)
    return clarke_lower_fail(low, err, "input %zu is computed of constants, or all before it are: others have the samples on an axis. Expand "
                                       "it to all samples before it is computed with; or record the training step (clarke.record)", i);
  if (!clarke_lower_value(low, i)->constant)
    return batch->axis == c->batch.axis && batch->merged == c->batch.merged && (!batch->merged || batch->inner == c->batch.inner)
             ? CLARKE_OK
             : clarke_lower_fail(low, err, "the inputs have the batch on axis %zu and on axis %zu, or merged otherwise", c->batch.axis,
                                 batch->axis);
  if (low->graph->together == 1)
    return CLARKE_OK;
  status = clarke_axes_shared(low, i, c->batch.axis, &shared, err);
  if (status == CLARKE_OK && !shared)
    return clarke_lower_fail(low, err, "input %zu is a constant, which has not the axis of all samples; an Expand of one sample's "
                                       "entries to all would have it: torch.onnx.export(dynamo=True, dynamic_shapes=...) leaves it in the "
                                       "file", i);
  return status;
}

/* A part of a Split, or another constant that is no initializer, without entries? */
static bool
is_nothing(const clarke_lowering *low, size_t i)
{
  const clarke_value *v = clarke_lower_value(low, i);

  return v->constant && v->count == 0 && v->real != NULL && !v->initializer && v->parameter == CLARKE_NONE
         && (!low->graph->batched || low->graph->together == 1);
}

static clarke_status
check_nothing(const concatenation *c, const clarke_lowering *low, size_t i, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank = clarke_axes_whole(low, i, dims);
  bool fits = rank == c->rank && dims[c->axis] == 0;

  for (size_t a = 0; a < rank && fits; a++)
    fits = a == c->axis || dims[a] == c->dims[a];
  return fits ? CLARKE_OK : clarke_lower_fail(low, err, "input %zu has no entries, or other axes", i);
}

/* They are no operands of the step. */
static void
drop_nothing(clarke_lowering *low)
{
  size_t n = 0;

  for (size_t i = 0; i < low->n_in; i++)
    if (!is_nothing(low, i))
      low->in[n++] = low->in[i];
  low->n_in = n;
}

/* Input i's extent along the axis, which the output grows by. */
static clarke_status
read_operand(concatenation *c, clarke_lowering *low, size_t i, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank;
  clarke_status status;

  if (!clarke_lower_has(low, i))
    return clarke_lower_fail(low, err, "input %zu is missing", i);
  if (is_nothing(low, i))
    return check_nothing(c, low, i, err);
  status = check_batch(c, low, i, err);
  if (status == CLARKE_OK && clarke_lower_value(low, i)->constant)
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
    return clarke_lower_fail(low, err, "an input is missing");
  if (axis == NULL)
    return clarke_lower_fail(low, err, "axis is missing");
  c->batch = clarke_lower_value(low, first)->batch;
  c->rank = clarke_axes_whole(low, first, c->dims);
  status = clarke_axes_resolve(low, axis->i, c->rank, &c->axis, err);
  if (status != CLARKE_OK)
    return status;
  if (c->axis == clarke_axes_batch(low, first))
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
  size_t dims[CLARKE_MAX_WHOLE], inner = 1, count = low->graph->values[s->out].count, whole, own;
  size_t *map;

  clarke_axes_whole(low, i, dims);
  if (dims[c->axis] == c->dims[c->axis])
    return CLARKE_OK;
  map = clarke_lower_map(low, s, i, count, err);
  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  for (size_t a = c->axis + 1; a < c->rank; a++)
    inner *= c->dims[a];
  whole = c->dims[c->axis] * inner;
  own = dims[c->axis] * inner;
  for (size_t f = 0; f < count; f++)
    map[f] = CLARKE_NONE;
  for (size_t f = *start * inner, from = 0; f < count; f += whole - own)
    for (size_t e = 0; e < own; e++)
      map[f++] = from++;
  *start += dims[c->axis];
  return CLARKE_OK;
}

static clarke_status
lower_concat(clarke_lowering *low, clarke_error *err)
{
  concatenation c;
  size_t start = 0, rank, dims[CLARKE_MAX_WHOLE];
  clarke_step *s;
  clarke_status status;

  if (clarke_lower_of_integers(low))
    return clarke_lower_integers_joined(low, err);
  if (clarke_lower_of_floats(low))
    return clarke_lower_floats_joined(low, err);
  status = clarke_lower_lift(low, err);
  if (status == CLARKE_OK)
    status = read_operands(&c, low, err);
  if (status != CLARKE_OK)
    return status;
  drop_nothing(low);
  memcpy(dims, c.dims, c.rank * sizeof *dims);
  rank = low->graph->batched ? clarke_axes_of_sample(&c.batch, c.rank, dims) : c.rank;
  s = clarke_lower_step(low, CLARKE_SUM, low->n_in, rank, dims, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  low->graph->values[s->out].batch = c.batch;
  for (size_t i = 0; status == CLARKE_OK && i < low->n_in; i++)
    status = place(&c, low, s, i, &start, err);
  return status == CLARKE_OK ? clarke_lower_done(low, s->out, err) : status;
}

const clarke_op clarke_ops_concat[] = {
  {.name = "Concat", .forms = {{7, 1, MOST_INPUTS, 1, "axis:i"}}, .lower = lower_concat, .batch = CLARKE_BATCH_ANY},
  {.name = NULL},
};
