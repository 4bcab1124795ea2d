#include "op/window.h"

#include "op/axes.h"
#include "op/lower.h"

#include <string.h>

/* A list attribute of n integers from `least` on, all `absent` when it is not there. Sizes up to
 * CLARKE_MAX_ENTRIES keep every sum and product of two of them below in range. */
static clarke_status
read_list(size_t *list, const clarke_lowering *low, const char *name, size_t n, int64_t least,
          size_t absent, clarke_error *err)
{
  const clarke_attr *attr = clarke_model_attr(low->node, name);

  if (attr != NULL && attr->n != n)
    return clarke_lower_fail(low, err, "%s has %zu entries; expected %zu", name, attr->n, n);
  for (size_t a = 0; a < n; a++) {
    int64_t entry = attr != NULL ? attr->ints[a] : (int64_t)absent;

    if (entry < least || entry > (int64_t)CLARKE_MAX_ENTRIES)
      return clarke_lower_fail(low, err, "%s holds %lld; expected %lld to %zu", name,
                               (long long)entry, (long long)least, CLARKE_MAX_ENTRIES);
    list[a] = (size_t)entry;
  }
  return CLARKE_OK;
}

/* From the first tap to the last along an axis. */
static size_t
extent(const clarke_window *w, size_t a)
{
  return (w->kernel[a] - 1) * w->dilation[a] + 1;
}

clarke_status
clarke_window_axes(size_t *axes, const clarke_lowering *low, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank = clarke_axes_whole(low, 0, dims);

  *axes = rank - 2;
  if (rank < 3 || *axes > CLARKE_MAX_SPATIAL)
    return clarke_lower_fail(low, err, "an input of %zu axes; expected (batch, channels) and one to %d spatial axes", rank,
                             CLARKE_MAX_SPATIAL);
  return CLARKE_OK;
}

static clarke_status
read_input(clarke_window *w, const clarke_lowering *low, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE];
  clarke_status status = clarke_window_axes(&w->axes, low, err);

  if (status != CLARKE_OK)
    return status;
  if (clarke_lower_value(low, 0)->count == 0)
    return clarke_lower_fail(low, err, "the input has no entries");
  clarke_axes_whole(low, 0, dims);
  w->whole = dims[0];
  w->channels = dims[1];
  w->planes = w->whole * w->channels;
  w->entries = 1;
  for (size_t a = 0; a < w->axes; a++)
    w->entries *= w->in[a] = dims[a + 2];
  return CLARKE_OK;
}

static clarke_status
read_kernel(clarke_window *w, const clarke_lowering *low, const size_t *kernel, clarke_error *err)
{
  const clarke_attr *attr = clarke_model_attr(low->node, "kernel_shape");
  clarke_status status = read_list(w->kernel, low, "kernel_shape", w->axes, 1, 1, err);

  if (status == CLARKE_OK && kernel == NULL && attr == NULL)
    return clarke_lower_fail(low, err, "kernel_shape is missing");
  for (size_t a = 0; status == CLARKE_OK && kernel != NULL && a < w->axes; a++) {
    if (attr != NULL && w->kernel[a] != kernel[a])
      return clarke_lower_fail(low, err, "kernel_shape holds %zu where the weight has %zu entries",
                               w->kernel[a], kernel[a]);
    w->kernel[a] = kernel[a];
  }
  return status;
}

/* Positions along an axis under the padding, rounded down, or `up`: then a last window may reach past
 * the padding, but one that would start in the padding after the array is left out (as ONNX's shape
 * inference and PyTorch have it). */
static size_t
places(const clarke_window *w, size_t a, bool up)
{
  size_t all = w->in[a] + w->before[a] + w->after[a], n;

  if (all < extent(w, a))
    return up && extent(w, a) - all < w->stride[a] ? 1 : 0;
  n = (all - extent(w, a) + (up ? w->stride[a] - 1 : 0)) / w->stride[a] + 1;
  return up && (n - 1) * w->stride[a] >= w->in[a] + w->before[a] ? n - 1 : n;
}

/* auto_pad SAME: in / stride positions, rounded up; an odd one of padding goes after, or before. ONNX's formula can give less than
 * none. What that means readers do not agree on, but of a convolution that leaves out one entry at the end (stride 2, kernel 1). Nor on
 * dilations of a pool. */
static clarke_status
pad_same(clarke_window *w, const clarke_lowering *low, size_t a, bool upper, clarke_error *err)
{
  const bool conv = strcmp(low->node->op_type, "Conv") == 0;
  const size_t n = (w->in[a] + w->stride[a] - 1) / w->stride[a], reach = (n - 1) * w->stride[a] + extent(w, a);
  const size_t total = reach > w->in[a] ? reach - w->in[a] : 0;

  if (!conv && w->dilation[a] > 1)
    return clarke_lower_fail(low, err, "auto_pad SAME_%s with dilations, of which ONNX's readers make outputs of different shapes: give pads in "
                                       "its place", upper ? "UPPER" : "LOWER");
  if (w->in[a] > reach + (conv ? 1 : 0))
    return clarke_lower_fail(low, err, "by ONNX's formula auto_pad SAME_%s pads axis %zu by %zu entries less than nothing, which its "
                                       "readers take differently: give pads in its place", upper ? "UPPER" : "LOWER", a + 2, w->in[a] - reach);
  w->before[a] = upper ? total / 2 : total - total / 2;
  w->after[a] = total - w->before[a];
  w->out[a] = n;
  return CLARKE_OK;
}

static clarke_status
read_padding(clarke_window *w, const clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *attr = clarke_model_attr(low->node, "auto_pad");
  const char *rule = attr != NULL ? attr->s : "NOTSET";
  bool upper = strcmp(rule, "SAME_UPPER") == 0, same = upper || strcmp(rule, "SAME_LOWER") == 0;
  bool given = !same && strcmp(rule, "VALID") != 0, up = clarke_lower_int(low, "ceil_mode", 0) != 0;
  size_t pads[2 * CLARKE_MAX_SPATIAL] = {0};
  clarke_status status = read_list(pads, low, "pads", 2 * w->axes, 0, 0, err);

  if (status != CLARKE_OK)
    return status;
  if (given && strcmp(rule, "NOTSET") != 0)
    return clarke_lower_fail(low, err, "auto_pad is '%.40s'; expected NOTSET, VALID, SAME_UPPER or "
                                       "SAME_LOWER", rule);
  if (!given && up)
    return clarke_lower_fail(low, err, "ceil_mode with auto_pad %s; expected pads", rule);
  if (!given && clarke_model_attr(low->node, "pads") != NULL) /* be they 0: readers take one or the other */
    return clarke_lower_fail(low, err, "pads with auto_pad %s; expected one of them", rule);
  for (size_t a = 0; a < w->axes; a++) {
    w->before[a] = pads[a];
    w->after[a] = pads[a + w->axes];
    if (same)
      status = pad_same(w, low, a, upper, err);
    else
      w->out[a] = places(w, a, up);
    if (status != CLARKE_OK)
      return status;
    if (w->out[a] == 0)
      return clarke_lower_fail(low, err, "a kernel that reaches over %zu entries does not fit into "
                                         "the %zu of axis %zu, padding counted: the output would "
                                         "have no entries", extent(w, a),
                               w->in[a] + w->before[a] + w->after[a], a + 2);
  }
  return CLARKE_OK;
}

/* Where padding is to be found by how long the output is: of axis a, so long; 0: padding is given. *upper: an odd one goes behind. */
static clarke_status
read_lengths(size_t *length, bool *upper, const clarke_window *w, const clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *attr = clarke_model_attr(low->node, "auto_pad");
  const char *rule = attr != NULL ? attr->s : "NOTSET";
  const bool told = clarke_model_attr(low->node, "output_shape") != NULL, given = strcmp(rule, "NOTSET") == 0, valid = strcmp(rule, "VALID") == 0;
  clarke_status status = read_list(length, low, "output_shape", w->axes, told ? 1 : 0, 0, err);

  *upper = strcmp(rule, "SAME_UPPER") == 0;
  if (status != CLARKE_OK)
    return status;
  if (!given && !valid && !*upper && strcmp(rule, "SAME_LOWER") != 0)
    return clarke_lower_fail(low, err, "auto_pad is '%.40s'; expected NOTSET, VALID, SAME_UPPER or SAME_LOWER", rule);
  if ((told || !given) && clarke_model_attr(low->node, "pads") != NULL) /* be they 0: readers take one or the other */
    return clarke_lower_fail(low, err, "pads with %s%s; expected one of them", told ? "output_shape" : "auto_pad ", told ? "" : rule);
  if (told && valid)
    return clarke_lower_fail(low, err, "output_shape with auto_pad VALID; expected one of them");
  for (size_t a = 0; a < w->axes && !told && !given && !valid; a++)
    length[a] = w->in[a] * w->stride[a];
  return CLARKE_OK;
}

/* What is cut off of `all` positions, so that `length` are left: half of it at each end. Or one is put behind them, where output_shape says so. */
static clarke_status
crop_to(clarke_window *w, const clarke_lowering *low, size_t a, size_t *positions, size_t length, bool upper, clarke_error *err)
{
  const bool behind = !upper && length == *positions + 1 && clarke_model_attr(low->node, "output_shape") != NULL;
  const size_t all = *positions += behind;

  if (length > all)
    return clarke_lower_fail(low, err, "an output of %zu entries along axis %zu, of which windows and output_padding reach over %zu: readers "
                                       "take padding of less than nothing differently; give pads in its place", length, a + 2, all);
  w->before[a] = upper ? (all - length) / 2 : (all - length + 1) / 2;
  w->after[a] = all - length - w->before[a];
  return CLARKE_OK;
}

/* stride (in - 1) + extent positions less the padding on both sides, and output_padding more at the end. */
static clarke_status
read_cropping(clarke_window *w, const clarke_lowering *low, clarke_error *err)
{
  size_t pads[2 * CLARKE_MAX_SPATIAL] = {0}, more[CLARKE_MAX_SPATIAL] = {0}, length[CLARKE_MAX_SPATIAL] = {0};
  bool upper;
  clarke_status status = read_list(pads, low, "pads", 2 * w->axes, 0, 0, err);

  if (status == CLARKE_OK)
    status = read_list(more, low, "output_padding", w->axes, 0, 0, err);
  if (status == CLARKE_OK)
    status = read_lengths(length, &upper, w, low, err);
  for (size_t a = 0; a < w->axes && status == CLARKE_OK; a++) {
    size_t all = (w->in[a] - 1) * w->stride[a] + extent(w, a) + more[a];

    if (more[a] >= w->stride[a] && more[a] >= w->dilation[a])
      return clarke_lower_fail(low, err, "output_padding holds %zu; expected less than the stride or the dilation", more[a]);
    w->before[a] = pads[a];
    w->after[a] = pads[a + w->axes];
    if (length[a] > 0)
      status = crop_to(w, low, a, &all, length[a], upper, err);
    if (status == CLARKE_OK && all <= w->before[a] + w->after[a])
      return clarke_lower_fail(low, err, "pads cut all of axis %zu off: the output would have no entries", a + 2);
    w->out[a] = all - w->before[a] - w->after[a];
  }
  return status;
}

/* The batch is the first axis, perhaps merged with others; or a spatial one, along which windows have one entry each and stand
 * everywhere: then each sample has windows of its own. */
static clarke_status
check_batch(const clarke_window *w, const clarke_lowering *low, clarke_error *err)
{
  const size_t axis = clarke_axes_batch(low, 0), a = axis - 2;

  if (clarke_axes_lead(low, 0) == 0)
    return CLARKE_OK;
  if (axis == 1 || (axis > 0 && clarke_lower_value(low, 0)->batch.merged))
    return clarke_lower_fail(low, err, "axis %zu is the batch, or merged with it: samples would be mixed", axis);
  if (axis >= 2 && (w->kernel[a] != 1 || w->stride[a] != 1 || w->before[a] != 0 || w->after[a] != 0))
    return clarke_lower_fail(low, err, "axis %zu is the batch, and windows along it are not each of one sample, or leave some out", axis);
  return CLARKE_OK;
}

static clarke_status
read_geometry(clarke_window *w, const clarke_lowering *low, const size_t *kernel, bool transposed, clarke_error *err)
{
  clarke_status status;

  memset(w, 0, sizeof *w);
  w->transposed = transposed;
  status = read_input(w, low, err);
  if (status == CLARKE_OK)
    status = read_kernel(w, low, kernel, err);
  if (status == CLARKE_OK)
    status = read_list(w->stride, low, "strides", w->axes, 1, 1, err);
  if (status == CLARKE_OK)
    status = read_list(w->dilation, low, "dilations", w->axes, 1, 1, err);
  if (status == CLARKE_OK)
    status = (transposed ? read_cropping : read_padding)(w, low, err);
  if (status == CLARKE_OK)
    status = check_batch(w, low, err);
  if (status != CLARKE_OK)
    return status;
  w->taps = w->positions = 1;
  for (size_t a = 0; a < w->axes; a++) {
    if (w->kernel[a] > CLARKE_MAX_ENTRIES / w->taps || w->out[a] > CLARKE_MAX_ENTRIES / w->positions)
      return clarke_lower_fail(low, err, "a kernel or an output of over %zu entries",
                               CLARKE_MAX_ENTRIES);
    w->taps *= w->kernel[a];
    w->positions *= w->out[a];
  }
  return CLARKE_OK;
}

clarke_status
clarke_window_read(clarke_window *w, const clarke_lowering *low, const size_t *kernel, clarke_error *err)
{
  return read_geometry(w, low, kernel, false, err);
}

clarke_status
clarke_window_read_transposed(clarke_window *w, const clarke_lowering *low, const size_t *kernel, clarke_error *err)
{
  return read_geometry(w, low, kernel, true, err);
}

/* The place along axis a that tap k at position p reads; CLARKE_NONE when it reads padding. */
static size_t
place_of(const clarke_window *w, size_t a, size_t p, size_t k)
{
  const size_t padded = w->transposed ? p + w->before[a] : p * w->stride[a] + k * w->dilation[a];
  const size_t skipped = w->transposed ? k * w->dilation[a] : w->before[a];
  const size_t step = w->transposed ? w->stride[a] : 1;

  if (padded < skipped || (padded - skipped) % step != 0 || (padded - skipped) / step >= w->in[a])
    return CLARKE_NONE;
  return (padded - skipped) / step;
}

size_t
clarke_window_entry(const clarke_window *w, size_t position, size_t tap)
{
  size_t entry = 0, step = 1;

  for (size_t a = w->axes; a-- > 0;) {
    const size_t place = place_of(w, a, position % w->out[a], tap % w->kernel[a]);

    if (place == CLARKE_NONE)
      return CLARKE_NONE;
    entry += place * step;
    step *= w->in[a];
    position /= w->out[a];
    tap /= w->kernel[a];
  }
  return entry;
}

/* Taps along axis a at position p that read places low .. high - 1 of the padded array. */
static size_t
taps_between(const clarke_window *w, size_t a, size_t p, size_t low, size_t high)
{
  size_t start = p * w->stride[a], d = w->dilation[a];
  size_t first = start >= low ? 0 : (low - start + d - 1) / d;
  size_t end = start >= high ? 0 : (high - start + d - 1) / d;

  end = end < w->kernel[a] ? end : w->kernel[a];
  return first < end ? end - first : 0;
}

size_t
clarke_window_inside(const clarke_window *w, size_t position)
{
  size_t n = 1;

  for (size_t a = w->axes; a-- > 0; position /= w->out[a])
    n *= taps_between(w, a, position % w->out[a], w->before[a], w->before[a] + w->in[a]);
  return n;
}

size_t
clarke_window_declared(const clarke_window *w, size_t position)
{
  size_t n = 1;

  for (size_t a = w->axes; a-- > 0; position /= w->out[a])
    n *= taps_between(w, a, position % w->out[a], 0, w->before[a] + w->in[a] + w->after[a]);
  return n;
}

size_t
clarke_window_shape(const clarke_window *w, const clarke_lowering *low, size_t channels,
                    size_t *dims)
{
  const bool alone = !clarke_lower_value(low, 0)->batch.merged;
  const size_t batch = clarke_axes_batch(low, 0); /* alone an axis of one entry: that of a sample has it not */
  size_t rank = 0;

  for (size_t a = 0; a < w->axes + 2; a++)
    if (a != batch || !alone)
      dims[rank++] = a == 0 ? w->whole : a == 1 ? channels : w->out[a - 2];
  return rank;
}

/* Are the windows, laid out, the planes as they are? */
static bool
is_identity(const clarke_window *w)
{
  if (w->taps * w->positions != w->entries)
    return false;
  for (size_t tap = 0; tap < w->taps; tap++)
    for (size_t p = 0; p < w->positions; p++)
      if (clarke_window_entry(w, p, tap) != tap * w->positions + p)
        return false;
  return true;
}

clarke_status
clarke_window_gather(const clarke_window *w, clarke_lowering *low, size_t *value,
                     clarke_error *err)
{
  const size_t dims[3] = {w->planes, w->taps, w->positions};
  clarke_step *s;
  const size_t each = w->taps * w->positions;
  size_t *map;

  *value = low->in[0];
  if (is_identity(w))
    return CLARKE_OK;
  s = clarke_lower_step(low, CLARKE_GATHER, 1, 3, dims, err);
  map = s != NULL ? clarke_lower_map(low, s, 0, w->planes * w->taps * w->positions, err) : NULL;
  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  *value = s->out;
  for (size_t tap = 0; tap < w->taps; tap++)
    for (size_t p = 0; p < w->positions; p++)
      map[tap * w->positions + p] = clarke_window_entry(w, p, tap);
  for (size_t plane = 1; plane < w->planes; plane++)
    for (size_t e = 0; e < each; e++)
      map[plane * each + e] = map[e] != CLARKE_NONE ? plane * w->entries + map[e] : CLARKE_NONE;
  return CLARKE_OK;
}
