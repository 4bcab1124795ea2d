/* DeformConv: a convolution whose windows lie where offsets say. Each tap is what lies between four entries of the image, 0 being around
 * it; then come a mask, and a product with the weight. Constant offsets make it linear. */
#include "op/axes.h"
#include "op/lower.h"
#include "op/node.h"
#include "op/shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { X, WEIGHT, OFFSET, BIAS, MASK };

typedef struct {
  size_t samples, channels, in[2], out[2], kernel[2], outputs, groups, offset_groups;
  int64_t stride[2], dilation[2], before[2];
  size_t taps, places, count; /* of a kernel; of the output; samples x channels x taps x places */
} deformed;

/* Two numbers of an attribute, behind each other; `absent` where it is not there. */
static void
read_pair(const clarke_lowering *low, const char *name, int64_t absent, int64_t pair[2])
{
  const clarke_attr *a = clarke_model_attr(low->node, name);

  for (size_t i = 0; i < 2; i++)
    pair[i] = a != NULL && a->n > i ? a->ints[i] : absent;
}

static clarke_status
read_attributes(deformed *d, const clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *pads = clarke_model_attr(low->node, "pads");
  const int64_t groups = clarke_lower_int(low, "group", 1), offsets = clarke_lower_int(low, "offset_group", 1);
  int64_t kernel[2];
  bool fit = groups > 0 && offsets > 0 && d->channels % (size_t)groups == 0 && d->outputs % (size_t)groups == 0
             && d->channels % (size_t)offsets == 0;

  read_pair(low, "strides", 1, d->stride);
  read_pair(low, "dilations", 1, d->dilation);
  read_pair(low, "pads", 0, d->before);
  for (size_t i = 0; i < 2 && fit; i++) {
    const int64_t after = pads != NULL && pads->n > i + 2 ? pads->ints[i + 2] : 0;
    int64_t span;

    read_pair(low, "kernel_shape", (int64_t)d->kernel[i], kernel);
    fit = d->stride[i] > 0 && d->dilation[i] > 0 && d->before[i] >= 0 && after >= 0 && d->stride[i] < INT32_MAX && d->dilation[i] < INT32_MAX
          && d->before[i] < INT32_MAX && after < INT32_MAX && d->kernel[i] < INT16_MAX && d->in[i] < INT32_MAX && kernel[i] == (int64_t)d->kernel[i];
    span = fit ? (int64_t)d->in[i] + d->before[i] + after - d->dilation[i] * ((int64_t)d->kernel[i] - 1) - 1 : -1;
    fit = fit && span >= 0 && d->out[i] == (size_t)(span / d->stride[i]) + 1;
  }
  d->groups = (size_t)groups;
  d->offset_groups = (size_t)offsets;
  return fit ? CLARKE_OK : clarke_lower_fail(low, err, "groups, strides, pads, dilations or kernel_shape do not fit the weight, or the offsets' shape");
}

/* Are the offsets computed of activations? */
static bool
is_moved(const clarke_lowering *low)
{
  return clarke_lower_has(low, OFFSET) && !clarke_lower_value(low, OFFSET)->constant;
}

/* Shapes that fit one another. */
static clarke_status
read_shapes(deformed *d, const clarke_lowering *low, clarke_error *err)
{
  size_t x[CLARKE_MAX_WHOLE], w[CLARKE_MAX_WHOLE], o[CLARKE_MAX_WHOLE], m[CLARKE_MAX_WHOLE];
  clarke_status status = is_moved(low) ? CLARKE_OK : clarke_lower_constant(low, OFFSET, err);

  if (status != CLARKE_OK)
    return status;
  if (clarke_axes_of_run(low, X, x) != 4 || clarke_axes_of_run(low, WEIGHT, w) != 4 || clarke_axes_of_run(low, OFFSET, o) != 4 || w[0] * w[1] * w[2] * w[3] == 0)
    return clarke_lower_fail(low, err, "input, weight and offsets have not four axes each");
  *d = (deformed){.samples = x[0], .channels = x[1], .in = {x[2], x[3]}, .out = {o[2], o[3]}, .kernel = {w[2], w[3]}, .outputs = w[0]};
  status = read_attributes(d, low, err);
  if (status != CLARKE_OK)
    return status;
  d->taps = d->kernel[0] * d->kernel[1];
  d->places = d->out[0] * d->out[1];
  d->count = d->samples * d->channels * d->taps * d->places;
  if (w[1] != d->channels / d->groups || o[0] != x[0] || o[1] != 2 * d->offset_groups * d->taps)
    return clarke_lower_fail(low, err, "the weight's channels, or the number of offsets, do not fit");
  if (clarke_lower_has(low, MASK)
      && (clarke_axes_of_run(low, MASK, m) != 4 || m[0] != o[0] || 2 * m[1] != o[1] || m[2] != o[2] || m[3] != o[3]))
    return clarke_lower_fail(low, err, "the mask's shape does not fit the offsets'");
  if (!is_moved(low) && low->graph->batched && x[0] != 1 && !clarke_lower_value(low, X)->constant && !clarke_lower_value(low, X)->batch.none)
    return clarke_lower_fail(low, err, "each sample has offsets of its own, and several samples are in one input: without a batch axis");
  return clarke_lower_affordable(low->graph, d->count) ? CLARKE_OK : clarke_lower_too_large(low, err);
}

/* The whole number below an offset, and what is left: its share and the other's are to be doubles. False where they are none. */
static bool
split(double offset, int64_t *below, double *rest)
{
  const double whole = floor(offset);

  *rest = offset - whole;
  *below = fabs(whole) < 0x1p30 ? (int64_t)whole : 0;
  return fabs(whole) < 0x1p30 && *rest < 1 && whole + *rest == offset && fmod(ldexp(*rest, 53), 1) == 0;
}

/* The four entries around each tap (the one behind all: 0), and the shares of the next ones along both axes. */
typedef struct {
  int64_t *entry[4];
  double *share[2];
} lattice;

static bool
find_tap(const deformed *d, const double *offset, size_t e, lattice *l)
{
  const size_t place = e % d->places, tap = e / d->places % d->taps, channel = e / d->places / d->taps % d->channels,
               sample = e / d->places / d->taps / d->channels, group = channel / (d->channels / d->offset_groups),
               from = (((sample * d->offset_groups + group) * d->taps + tap) * 2) * d->places + place,
               at[2] = {place / d->out[1], place % d->out[1]}, of[2] = {tap / d->kernel[1], tap % d->kernel[1]};
  int64_t first[2] = {0, 0};
  bool told = true;

  for (size_t a = 0; a < 2; a++) {
    told = told && split(offset[from + a * d->places], &first[a], &l->share[a][e]);
    first[a] += (int64_t)at[a] * d->stride[a] + (int64_t)of[a] * d->dilation[a] - d->before[a];
  }
  for (size_t k = 0; k < 4; k++) {
    const int64_t row = first[0] + (int64_t)(k / 2), column = first[1] + (int64_t)(k % 2);
    const bool inside = row >= 0 && column >= 0 && row < (int64_t)d->in[0] && column < (int64_t)d->in[1];

    l->entry[k][e] = inside ? ((int64_t)(sample * d->channels + channel) * (int64_t)d->in[0] + row) * (int64_t)d->in[1] + column
                            : (int64_t)(d->samples * d->channels * d->in[0] * d->in[1]);
  }
  return told;
}

/* a + share (b - a), as two products: shares are no numbers of a parameter. */
static size_t
between(clarke_lowering *low, size_t n, size_t a, size_t b, const double *share, clarke_error *err)
{
  size_t value[2];

  for (size_t k = 0; k < 2; k++) {
    if (a == CLARKE_NONE || b == CLARKE_NONE || clarke_lower_made(low, 1, &n, &value[k], err) != CLARKE_OK)
      return CLARKE_NONE;
    for (size_t e = 0; e < n; e++)
      low->graph->values[value[k]].real[e] = k == 0 ? 1 - share[e] : share[e];
  }
  a = clarke_inner_of(low, "Mul", a, value[0], err);
  return clarke_inner_of(low, "Add", a, clarke_inner_of(low, "Mul", b, value[1], err), err);
}

/* What the taps see, one after another; CLARKE_NONE when it fails. */
static size_t
seen(clarke_lowering *low, const deformed *d, const lattice *l, clarke_error *err)
{
  const clarke_attr axis = clarke_inner_int("axis", 1);
  const int64_t all[2] = {1, -1}, pads[4] = {0, 0, 0, 1};
  const size_t flat = clarke_inner_reshaped(low, low->in[X], all, 2, err);
  const size_t x = flat != CLARKE_NONE ? clarke_inner_of(low, "Pad", flat, clarke_inner_integers(low, pads, 4, err), err) : flat;
  size_t of[4];

  for (size_t k = 0; k < 4; k++) {
    const size_t list = x != CLARKE_NONE ? clarke_inner_integers(low, l->entry[k], d->count, err) : x;

    of[k] = list != CLARKE_NONE ? clarke_inner_node(low, "Gather", (size_t[]){x, list}, 2, &axis, 1, err) : list;
    if (of[k] == CLARKE_NONE)
      return CLARKE_NONE;
  }
  of[0] = between(low, d->count, of[0], of[1], l->share[1], err);
  of[2] = between(low, d->count, of[2], of[3], l->share[1], err);
  return between(low, d->count, of[0], of[2], l->share[0], err);
}

/* Times the mask, times the weight, plus the bias. */
static size_t
weighed(clarke_lowering *low, const deformed *d, size_t y, clarke_error *err)
{
  const int64_t n = (int64_t)d->samples, each = (int64_t)(d->channels / d->groups * d->taps), taps = (int64_t)d->taps, groups = (int64_t)d->groups;
  const int64_t p = (int64_t)d->places, by[5] = {n, (int64_t)d->offset_groups, (int64_t)(d->channels / d->offset_groups), taps, p};
  const int64_t mask[5] = {n, by[1], 1, taps, p}, columns[4] = {n, groups, each, p}, plain[3] = {n, each, p};
  const int64_t weight[3] = {groups, (int64_t)(d->outputs / d->groups), each}, bias[3] = {(int64_t)d->outputs, 1, 1},
                out[4] = {n, bias[0], (int64_t)d->out[0], (int64_t)d->out[1]};
  const bool one = d->groups == 1;
  size_t w;

  if (clarke_lower_has(low, MASK) && y != CLARKE_NONE)
    y = clarke_inner_of(low, "Mul", clarke_inner_reshaped(low, y, by, 5, err), clarke_inner_reshaped(low, low->in[MASK], mask, 5, err), err);
  y = clarke_inner_reshaped(low, y, one ? plain : columns, one ? 3 : 4, err);
  w = y != CLARKE_NONE ? clarke_inner_reshaped(low, low->in[WEIGHT], one ? weight + 1 : weight, one ? 2 : 3, err) : y;
  y = clarke_inner_reshaped(low, clarke_inner_of(low, "MatMul", w, y, err), out, 4, err);
  if (clarke_lower_has(low, BIAS) && y != CLARKE_NONE)
    y = clarke_inner_of(low, "Add", y, clarke_inner_reshaped(low, low->in[BIAS], bias, 3, err), err);
  return y;
}

/* --- Offsets that are computed --- */

/* Where each tap lies along an axis without its offset: (1, offset groups x taps, places, 1). */
static size_t
resting(clarke_lowering *low, const deformed *d, size_t axis, clarke_error *err)
{
  const size_t dims[4] = {1, d->offset_groups * d->taps, d->places, 1};
  size_t value;

  if (clarke_lower_made(low, 4, dims, &value, err) != CLARKE_OK)
    return CLARKE_NONE;
  for (size_t e = 0; e < low->graph->values[value].count; e++) {
    const size_t place = e % d->places, tap = e / d->places % d->taps;
    const size_t at = axis == 0 ? place / d->out[1] : place % d->out[1], of = axis == 0 ? tap / d->kernel[1] : tap % d->kernel[1];

    low->graph->values[value].real[e] = (double)((int64_t)at * d->stride[axis] + (int64_t)of * d->dilation[axis] - d->before[axis]);
  }
  return value;
}

/* The shares along an axis of what each tap sees. */
static size_t
along_axis(clarke_lowering *low, const deformed *d, size_t axis, clarke_error *err)
{
  const int64_t pairs[4] = {(int64_t)d->samples, (int64_t)(d->offset_groups * d->taps), 2, (int64_t)d->places};
  const int64_t each[4] = {pairs[0], pairs[1], pairs[3], 1};
  const size_t both = clarke_inner_reshaped(low, low->in[OFFSET], pairs, 4, err);
  const size_t offset = clarke_inner_reshaped(low, clarke_inner_sliced(low, both, 2, axis, axis + 1, err), each, 4, err);
  const size_t at = offset != CLARKE_NONE ? clarke_inner_of(low, "Add", offset, resting(low, d, axis, err), err) : offset;

  return at != CLARKE_NONE ? clarke_shares(low, at, d->in[axis], CLARKE_SEES_BETWEEN, false, err) : at;
}

/* What the taps see, as of constant offsets. */
static size_t
seen_moved(clarke_lowering *low, const deformed *d, clarke_error *err)
{
  const int64_t turned[4] = {0, 1, 3, 2}, n = (int64_t)d->samples, groups = (int64_t)d->offset_groups, entries = (int64_t)(d->in[0] * d->in[1]);
  const int64_t by[4] = {n, groups, (int64_t)(d->taps * d->places), entries}, image[4] = {n, groups, (int64_t)d->channels / groups, entries};
  size_t along[2], shares, x;

  for (size_t a = 0; a < 2; a++)
    if ((along[a] = along_axis(low, d, a, err)) == CLARKE_NONE)
      return CLARKE_NONE;
  shares = clarke_shares_joined(low, along, 2, d->samples, d->offset_groups * d->taps * d->places, d->in, err);
  shares = clarke_inner_transposed(low, clarke_inner_reshaped(low, shares, by, 4, err), turned, 4, err);
  x = shares != CLARKE_NONE ? clarke_inner_reshaped(low, low->in[X], image, 4, err) : shares;
  return clarke_inner_of(low, "MatMul", x, shares, err);
}

static clarke_status
lower_moved(clarke_lowering *low, const deformed *d, clarke_error *err)
{
  const size_t shares = d->offset_groups * d->taps * d->places;

  if (!clarke_lower_affordable(low->graph, shares * d->in[0] * d->in[1]))
    return clarke_lower_too_large(low, err);
  return clarke_inner_done(low, 0, weighed(low, d, seen_moved(low, d, err), err), err);
}

static clarke_status
lower_deform(clarke_lowering *low, clarke_error *err)
{
  deformed d = {0};
  lattice l = {0};
  bool told = true, room = true;
  clarke_status status = clarke_lower_first(low, err);

  if (status == CLARKE_OK)
    status = read_shapes(&d, low, err);
  if (status != CLARKE_OK)
    return status;
  if (is_moved(low))
    return lower_moved(low, &d, err);
  for (size_t k = 0; k < 6 && room; k++) {
    void *list = calloc(d.count + 1, 8);

    room = list != NULL;
    if (k < 4)
      l.entry[k] = list;
    else
      l.share[k - 4] = list;
  }
  for (size_t e = 0; e < d.count && room && told; e++)
    told = find_tap(&d, clarke_lower_value(low, OFFSET)->real, e, &l);
  if (!room)
    status = clarke_lower_no_memory(low, err);
  else if (!told)
    status = clarke_lower_fail(low, err, "an offset is so near to a whole number that shares of entries are no doubles, or 2^30 or more");
  else {
    low->graph->values[low->in[OFFSET]].bound = true;
    status = clarke_inner_done(low, 0, weighed(low, &d, seen(low, &d, &l, err), err), err);
  }
  for (size_t k = 0; k < 4; k++)
    free(l.entry[k]);
  free(l.share[0]);
  free(l.share[1]);
  return status;
}

const clarke_op clarke_ops_deform[] = {
  {.name = "DeformConv", .forms = {{19, 3, 5, 1, "dilations:I group:i kernel_shape:I offset_group:i pads:I strides:I"}}, .lower = lower_deform,
   .batch = CLARKE_BATCH_FIRST, .multiplies = true},
  {.name = NULL},
};
