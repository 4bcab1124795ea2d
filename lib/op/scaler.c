/* Scaler of ONNX's domain of machine learning, as scikit-learn's converters write it: each feature less an offset, times a scale. */
#include "op/axes.h"
#include "op/lower.h"
#include "op/node.h"

#include <string.h>

/* The attribute's floats, one for each of the features or one for all, as a constant that no parameter is. */
static size_t
numbers_of(clarke_lowering *low, const char *name, size_t features, clarke_error *err)
{
  const clarke_attr *a = clarke_model_attr(low->node, name);
  size_t value;

  if (a == NULL || a->type != CLARKE_ATTR_FLOATS || (a->n != 1 && a->n != features)) {
    clarke_lower_fail(low, err, "%s has %zu numbers; expected one for each of %zu features, or one for all", name, a != NULL ? a->n : 0,
                      features);
    return CLARKE_NONE;
  }
  if (clarke_lower_made(low, 1, &a->n, &value, err) != CLARKE_OK)
    return CLARKE_NONE;
  memcpy(low->graph->values[value].real, a->floats, a->n * sizeof *a->floats);
  return value;
}

/* The features are the last axis, of one or two. */
static clarke_status
lower_scaler(clarke_lowering *low, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank, offset, scale, y;
  clarke_status status = clarke_lower_first(low, err);

  if (status != CLARKE_OK)
    return status;
  rank = clarke_axes_of_run(low, 0, dims);
  if (rank != 1 && rank != 2)
    return clarke_lower_fail(low, err, "input 0 has %zu axes; expected (samples, features), or (features)", rank);
  offset = numbers_of(low, "offset", dims[rank - 1], err);
  scale = offset != CLARKE_NONE ? numbers_of(low, "scale", dims[rank - 1], err) : offset;
  if (scale != CLARKE_NONE && low->graph->values[scale].count != low->graph->values[offset].count)
    return clarke_lower_fail(low, err, "offset and scale have different numbers of entries");
  y = scale != CLARKE_NONE ? clarke_inner_of(low, "Sub", low->in[0], offset, err) : scale;
  y = y != CLARKE_NONE ? clarke_inner_of(low, "Mul", y, scale, err) : y;
  return y != CLARKE_NONE ? clarke_inner_done(low, 0, y, err) : clarke_inner_failed(err);
}

const clarke_op clarke_ops_scaler[] = {
  {.name = "Scaler", .domain = CLARKE_DOMAIN_OF_LEARNING, .forms = {{7, 1, 1, 1, "offset:F scale:F"}}, .lower = lower_scaler,
   .batch = CLARKE_BATCH_ANY},
  {.name = NULL},
};
