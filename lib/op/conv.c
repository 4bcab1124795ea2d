/* Conv and ConvTranspose over one or two spatial axes: the windows laid out, a dense step for every group of channels, the
 * bias. */
#include "op/axes.h"
#include "op/computed.h"
#include "op/lower.h"
#include "op/window.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  clarke_window window;
  size_t groups, outputs; /* channels, of all groups */
  size_t weight;          /* a value, (outputs, channels / groups, kernel...) */
} convolution;

/* Are there several samples in one input, and several weights? A group's are then gathered from all samples. */
static bool
is_turned(const convolution *c)
{
  return c->groups > 1 && c->window.whole > 1;
}

/* The weight is (outputs, channels / groups, kernel...). */
static clarke_status
read_weight(convolution *c, const clarke_lowering *low, clarke_error *err)
{
  const clarke_value *w = clarke_lower_value(low, 1);
  int64_t groups = clarke_lower_int(low, "group", 1);
  size_t axes;
  clarke_status status = clarke_window_axes(&axes, low, err);

  if (status != CLARKE_OK)
    return status;
  if (w->rank != axes + 2 || w->count == 0)
    return clarke_lower_fail(low, err, "a weight of %zu axes and %zu entries; expected %zu axes: "
                                       "output channels, input channels of a group, kernel",
                             w->rank, w->count, axes + 2);
  status = clarke_window_read(&c->window, low, w->dims + 2, err);
  if (status != CLARKE_OK)
    return status;
  c->outputs = w->dims[0];
  if (groups < 1 || c->outputs % (size_t)groups != 0 || c->window.channels % (size_t)groups != 0)
    return clarke_lower_fail(low, err, "group is %lld; expected a divisor of %zu channels and of %zu "
                                       "outputs", (long long)groups, c->window.channels, c->outputs);
  c->groups = (size_t)groups;
  if (w->dims[1] != c->window.channels / c->groups)
    return clarke_lower_fail(low, err, "the weight takes %zu channels; expected %zu in each of %zu "
                                       "groups", w->dims[1], c->window.channels / c->groups,
                             c->groups);
  c->weight = low->in[1];
  return CLARKE_OK;
}

/* Where entry (output, channel of a group, tap) is in a weight (channels, outputs / groups, kernel...). */
static size_t *
turned_map(const convolution *c, size_t channels)
{
  const size_t outputs = c->outputs / c->groups, taps = c->window.taps, count = c->outputs * channels * taps;
  size_t *map = malloc((count + 1) * sizeof *map);

  for (size_t e = 0; map != NULL && e < count; e++) {
    const size_t output = e / taps / channels, channel = output / outputs * channels + e / taps % channels;

    map[e] = (channel * outputs + output % outputs) * taps + e % taps;
  }
  return map;
}

/* The weight is (channels, outputs / groups, kernel...). Turned round it is that of a convolution. */
static clarke_status
read_turned(convolution *c, clarke_lowering *low, clarke_error *err)
{
  const clarke_value *w = clarke_lower_value(low, 1);
  const int64_t groups = clarke_lower_int(low, "group", 1);
  size_t axes, dims[CLARKE_MAX_RANK], *map;
  clarke_status status = clarke_window_axes(&axes, low, err);

  if (status != CLARKE_OK)
    return status;
  if (w->rank != axes + 2 || w->count == 0)
    return clarke_lower_fail(low, err, "a weight of %zu axes and %zu entries; expected %zu axes: input channels, output channels "
                                       "of a group, kernel", w->rank, w->count, axes + 2);
  status = clarke_window_read_transposed(&c->window, low, w->dims + 2, err);
  if (status != CLARKE_OK)
    return status;
  if (groups < 1 || c->window.channels % (size_t)groups != 0 || w->dims[0] != c->window.channels)
    return clarke_lower_fail(low, err, "group is %lld, and the weight takes %zu channels; expected a divisor of %zu channels, and "
                                       "these", (long long)groups, w->dims[0], c->window.channels);
  c->groups = (size_t)groups;
  c->outputs = w->dims[1] * c->groups;
  memcpy(dims, w->dims, sizeof dims);
  dims[0] = c->outputs;
  dims[1] = c->window.channels / c->groups;
  map = turned_map(c, dims[1]);
  if (map == NULL)
    return clarke_lower_no_memory(low, err);
  return clarke_computed_moved(low, 1, w->rank, dims, map, &c->weight, err);
}

/* A value laid out along (first, second, third) along (second, first, third) instead, in the given shape. */
static clarke_status
swap_axes(clarke_lowering *low, size_t *value, const size_t axes[3], size_t rank, const size_t *dims, clarke_error *err)
{
  clarke_step *s = clarke_lower_step(low, CLARKE_GATHER, 1, rank, dims, err);
  size_t *map = s != NULL ? clarke_lower_map(low, s, 0, axes[0] * axes[1] * axes[2], err) : NULL;

  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->in[0].value = *value;
  *value = s->out;
  for (size_t j = 0; j < axes[1]; j++)
    for (size_t i = 0; i < axes[0]; i++)
      for (size_t k = 0; k < axes[2]; k++)
        *map++ = (i * axes[1] + j) * axes[2] + k;
  return CLARKE_OK;
}

/* y = W x for the windows x, laid out along (whole, groups, channels of a group, taps, positions); of several samples and
 * groups along (groups, channels of a group, taps, whole, positions). */
static clarke_status
add_dense(const convolution *c, clarke_lowering *low, size_t *value, clarke_error *err)
{
  const clarke_window *w = &c->window;
  const bool turned = is_turned(c);
  const size_t columns[3] = {w->whole, w->channels * w->taps, w->positions}, flat[3] = {columns[1], columns[0], columns[2]};
  size_t dims[CLARKE_MAX_RANK], rank = clarke_window_shape(w, low, c->outputs, dims);
  clarke_step *s;

  if (turned && swap_axes(low, value, columns, 3, flat, err) != CLARKE_OK)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s = clarke_computed_dense(low, *value,
                            (clarke_dense){.weight = c->weight, .grouped = c->groups > 1,
                                           .blocks = (turned ? 1 : w->whole) * c->groups,
                                           .inner = w->channels / c->groups * w->taps,
                                           .outer = c->outputs / c->groups, .repeat = w->positions * (turned ? w->whole : 1)},
                            rank, dims, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  *value = s->out;
  return CLARKE_OK;
}

static clarke_status
add_bias(const convolution *c, clarke_lowering *low, size_t *value, clarke_error *err)
{
  size_t dims[CLARKE_MAX_RANK], rank = clarke_window_shape(&c->window, low, c->outputs, dims);
  const clarke_value *b;
  clarke_step *s;
  clarke_status status = clarke_computed_weight(low, 2, err);

  if (status != CLARKE_OK)
    return status;
  b = clarke_lower_value(low, 2);
  if (b->rank != 1 || b->count != c->outputs)
    return clarke_lower_fail(low, err, "a bias of %zu axes and %zu entries; expected one axis of %zu",
                             b->rank, b->count, c->outputs);
  s = clarke_lower_step(low, CLARKE_SUM, 2, rank, dims, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->in[0].value = *value;
  s->in[1].value = low->in[2];
  *value = s->out;
  return clarke_lower_periodic(low, s, 1, c->window.positions * (is_turned(c) ? c->window.whole : 1), c->outputs, err);
}

/* Where groups were gathered from all samples: the samples one after another again. */
static clarke_status
turn_back(const convolution *c, clarke_lowering *low, size_t *value, clarke_error *err)
{
  const size_t axes[3] = {c->outputs, c->window.whole, c->window.positions};
  size_t dims[CLARKE_MAX_RANK], rank = clarke_window_shape(&c->window, low, c->outputs, dims);

  return is_turned(c) ? swap_axes(low, value, axes, rank, dims, err) : CLARKE_OK;
}

static clarke_status
lower_either(clarke_lowering *low, bool transposed, clarke_error *err)
{
  convolution c;
  size_t value = CLARKE_NONE;
  clarke_status status = clarke_lower_first(low, err);

  if (status == CLARKE_OK)
    status = clarke_computed_weight(low, 1, err);
  if (status == CLARKE_OK)
    status = transposed ? read_turned(&c, low, err) : read_weight(&c, low, err);
  if (status == CLARKE_OK)
    status = clarke_window_gather(&c.window, low, &value, err);
  if (status == CLARKE_OK)
    status = add_dense(&c, low, &value, err);
  if (status == CLARKE_OK && clarke_lower_has(low, 2))
    status = add_bias(&c, low, &value, err);
  if (status == CLARKE_OK)
    status = turn_back(&c, low, &value, err);
  return status == CLARKE_OK ? clarke_lower_done(low, value, err) : status;
}

static clarke_status
lower_conv(clarke_lowering *low, clarke_error *err)
{
  return lower_either(low, false, err);
}

static clarke_status
lower_transposed(clarke_lowering *low, clarke_error *err)
{
  return lower_either(low, true, err);
}

const clarke_op clarke_ops_conv[] = {
  {.name = "Conv",
   .forms = {{7, 2, 3, 1, CLARKE_WINDOW_ATTRIBUTES " dilations:I group:i"}},
   .lower = lower_conv, .batch = CLARKE_BATCH_KEPT, .multiplies = true},
  {.name = "ConvTranspose",
   .forms = {{7, 2, 3, 1, CLARKE_WINDOW_ATTRIBUTES " dilations:I group:i output_padding:I output_shape:I"}},
   .lower = lower_transposed, .batch = CLARKE_BATCH_KEPT, .multiplies = true},
  {.name = NULL},
};
