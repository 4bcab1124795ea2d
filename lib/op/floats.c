#include "op/floats.h"
#include "op/integers.h"
#include "op/lower.h"

#include <math.h>

#define MOST_FLOATS ((size_t)65536)

static bool
is_number(const clarke_value *v)
{
  return v->constant && v->real != NULL && v->dtype == CLARKE_F32 && !v->initializer && v->parameter == CLARKE_NONE && !v->negated;
}

bool
clarke_lower_of_floats(const clarke_lowering *low)
{
  bool all = low->n_in > 0;

  for (size_t i = 0; i < low->n_in; i++)
    all = all && clarke_lower_has(low, i) && is_number(clarke_lower_value(low, i));
  return all;
}

/* Cast takes integers, too, which are exact in no double beyond 2^53: they are converted at once. */
static bool
is_castable(const clarke_lowering *low)
{
  const clarke_value *v = clarke_lower_has(low, 0) ? clarke_lower_value(low, 0) : NULL;

  return v != NULL && v->constant && v->integer != NULL && (v->dtype == CLARKE_I64 || v->dtype == CLARKE_BOOL);
}

/* Of one or two entries. A double holds the exact operands of Div and Sqrt and more than twice their digits, so that to round
 * first to it changes nothing (Figueroa, 1995). */
static bool
compute(const char *op, const clarke_value *v, const size_t *e, double *to)
{
  float y;

  if (v[0].integer != NULL)
    y = (float)v[0].integer[e[0]];
  else if (op[0] == 'S')
    y = (float)sqrt(v[0].real[e[0]]);
  else if (op[0] == 'D')
    y = (float)(v[0].real[e[0]] / v[1].real[e[1]]);
  else
    y = (float)v[0].real[e[0]];
  *to = (double)y;
  return isnormal(y) || (v[0].integer != NULL ? v[0].integer[e[0]] == 0 : v[0].real[e[0]] == 0 && y == 0);
}

clarke_status
clarke_lower_floats_computed(clarke_lowering *low, clarke_error *err)
{
  const char *op = low->node->op_type;
  size_t rank, dims[CLARKE_MAX_RANK], value, count;
  clarke_status status;

  if (!clarke_lower_of_floats(low) && !(op[0] == 'C' && is_castable(low)))
    return clarke_lower_fail(low, err, "only constants of 64-bit integers, truth values or float32 that are no parameters become "
                                       "float32. Export with torch.onnx.export(dynamo=True), which folds other constants; or record "
                                       "the training step (clarke.record)");
  if (!clarke_lower_constants_shape(low, &rank, dims))
    return clarke_lower_fail(low, err, "the shapes do not broadcast");
  status = clarke_lower_made(low, rank, dims, &value, err);
  if (status != CLARKE_OK)
    return status;
  count = low->graph->values[value].count;
  if (count == 0 || count > MOST_FLOATS || !clarke_lower_affordable(low->graph, count))
    return clarke_lower_fail(low, err, "1 to %zu floats are computed", MOST_FLOATS);
  low->graph->activations += count;
  low->graph->values[value].dtype = CLARKE_F32;
  for (size_t f = 0; f < count; f++) {
    const clarke_value v[2] = {*clarke_lower_value(low, 0), *clarke_lower_value(low, low->n_in - 1)};
    const size_t e[2] = {clarke_lower_constants_entry(&v[0], rank, dims, f), clarke_lower_constants_entry(&v[1], rank, dims, f)};

    if (!compute(op, v, e, &low->graph->values[value].real[f]))
      return clarke_lower_fail(low, err, "entry %zu is no number, or too large or too small for a normal one of float32", f);
  }
  return clarke_lower_done(low, value, err);
}
