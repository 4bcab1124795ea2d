/* LRN: x by a power of what its channel and those beside it respond with, their squares' sum. MeanVarianceNormalization: less its mean,
 * by its deviation. As nodes within the node. */
#include "op/axes.h"
#include "op/lower.h"
#include "op/node.h"

#define MOST_CHANNELS CLARKE_MAX_SORTED /* side by side: inputs of a Sum */

/* Sums of the squares of `size` channels: those before, itself and those behind, of which there may be one more. */
static size_t
sums_of_squares(clarke_lowering *low, const size_t *dims, size_t rank, size_t size, clarke_error *err)
{
  int64_t pads[2 * CLARKE_MAX_WHOLE] = {0};
  size_t term[MOST_CHANNELS], in[2];

  pads[1] = (int64_t)(size - 1) / 2;
  pads[rank + 1] = (int64_t)size - 1 - pads[1];
  in[0] = clarke_inner_of(low, "Mul", low->in[0], low->in[0], err);
  in[1] = in[0] != CLARKE_NONE ? clarke_inner_integers(low, pads, 2 * rank, err) : CLARKE_NONE;
  in[0] = clarke_inner_of(low, "Pad", in[0], in[1], err);
  for (size_t k = 0; k < size; k++) {
    term[k] = clarke_inner_sliced(low, in[0], 1, k, k + dims[1], err);
    if (term[k] == CLARKE_NONE)
      return CLARKE_NONE;
  }
  return clarke_inner_node(low, "Sum", term, size, NULL, 0, err);
}

/* value OP the number, exactly. */
static size_t
by_number(clarke_lowering *low, const char *op, size_t value, double number, clarke_error *err)
{
  return value != CLARKE_NONE ? clarke_inner_of(low, op, value, clarke_inner_number(low, number, err), err) : value;
}

static clarke_status
lower_responses(clarke_lowering *low, clarke_error *err)
{
  const int64_t size = clarke_lower_int(low, "size", 0);
  size_t dims[CLARKE_MAX_WHOLE], rank, y;
  clarke_status status = clarke_lower_first(low, err);

  if (status != CLARKE_OK)
    return status;
  rank = clarke_axes_whole(low, 0, dims);
  if (rank < 2)
    return clarke_lower_fail(low, err, "an input of %zu axes; expected a batch, channels and others", rank);
  if (size < 1 || size > MOST_CHANNELS)
    return clarke_lower_fail(low, err, "size is %lld; expected 1 to %d channels", (long long)size, MOST_CHANNELS);
  y = sums_of_squares(low, dims, rank, (size_t)size, err);
  y = by_number(low, "Mul", y, clarke_lower_float(low, "alpha", (double)1e-4f), err);
  y = by_number(low, "Div", y, (double)size, err);
  y = by_number(low, "Add", y, clarke_lower_float(low, "bias", 1), err);
  y = by_number(low, "Pow", y, clarke_lower_float(low, "beta", 0.75), err);
  return clarke_inner_done(low, 0, clarke_inner_of(low, "Div", low->in[0], y, err), err);
}

/* The mean of the value over the axes, which stay with one entry. */
static size_t
mean_of(clarke_lowering *low, size_t value, const int64_t *axes, size_t n, clarke_error *err)
{
  const size_t list = value != CLARKE_NONE ? clarke_inner_integers(low, axes, n, err) : value;

  return clarke_inner_of(low, "ReduceMean", value, list, err);
}

static clarke_status
lower_mean_and_variance(clarke_lowering *low, clarke_error *err)
{
  static const int64_t usual[3] = {0, 2, 3};
  const clarke_attr *axes = clarke_model_attr(low->node, "axes");
  const int64_t *list = axes != NULL ? axes->ints : usual;
  const size_t n = axes != NULL ? axes->n : 3;
  size_t mean, square, y;
  clarke_status status = clarke_lower_first(low, err);

  if (status != CLARKE_OK)
    return status;
  mean = mean_of(low, low->in[0], list, n, err);
  square = mean_of(low, clarke_inner_of(low, "Mul", low->in[0], low->in[0], err), list, n, err);
  y = clarke_inner_of(low, "Sub", square, clarke_inner_of(low, "Mul", mean, mean, err), err);
  y = by_number(low, "Add", clarke_inner_function(low, "Sqrt", y, err), (double)1e-9F, err);
  return clarke_inner_done(low, 0, clarke_inner_of(low, "Div", clarke_inner_of(low, "Sub", low->in[0], mean, err), y, err), err);
}

const clarke_op clarke_ops_response[] = {
  {.name = "LRN", .forms = {{7, 1, 1, 1, "alpha:f beta:f bias:f size:i"}}, .lower = lower_responses, .batch = CLARKE_BATCH_ANY},
  {.name = "MeanVarianceNormalization", .forms = {{9, 1, 1, 1, "axes:I"}}, .lower = lower_mean_and_variance, .batch = CLARKE_BATCH_ANY},
  {.name = NULL},
};
