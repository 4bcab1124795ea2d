/* Operators on images that are others: CenterCropPad is a Pad, Col2Im a ConvTranspose whose filters each have one 1, Upsample a Resize. */
#include "op/axes.h"
#include "op/lower.h"
#include "op/node.h"

#include <stdlib.h>
#include <string.h>

/* Half of what an axis is to have more, or less, goes before it: rounded towards 0. */
static clarke_status
lower_center(clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *axes = clarke_model_attr(low->node, "axes");
  size_t dims[CLARKE_MAX_WHOLE], rank, n, value;
  int64_t pads[2 * CLARKE_MAX_WHOLE] = {0};
  bool chosen[CLARKE_MAX_WHOLE];
  const int64_t *shape;
  clarke_status status = clarke_lower_first(low, err);

  if (status == CLARKE_OK)
    status = clarke_lower_integers(low, 1, &shape, &n, err);
  if (status != CLARKE_OK)
    return status;
  rank = clarke_axes_of_run(low, 0, dims);
  if (axes != NULL)
    status = clarke_axes_chosen(low, axes->ints, axes->n, rank, chosen, err);
  if (status == CLARKE_OK && n != (axes != NULL ? axes->n : rank))
    status = clarke_lower_fail(low, err, "a shape of %zu numbers; expected %zu", n, axes != NULL ? axes->n : rank);
  for (size_t i = 0; i < n && status == CLARKE_OK; i++) {
    const size_t a = axes == NULL ? i : axes->ints[i] < 0 ? (size_t)(axes->ints[i] + (int64_t)rank) : (size_t)axes->ints[i];

    if (shape[i] < 1 || shape[i] > INT32_MAX || dims[a] > INT32_MAX)
      return clarke_lower_fail(low, err, "axis %zu is to have %lld entries", a, (long long)shape[i]);
    pads[a] = (shape[i] - (int64_t)dims[a]) / 2;
    pads[rank + a] = shape[i] - (int64_t)dims[a] - pads[a];
  }
  if (status != CLARKE_OK)
    return status;
  value = clarke_inner_integers(low, pads, 2 * rank, err);
  value = value != CLARKE_NONE ? clarke_inner_node(low, "Pad", (size_t[]){low->in[0], value}, 2, NULL, 0, err) : value;
  return clarke_inner_done(low, 0, value, err);
}

#define MOST_SPACE (CLARKE_MAX_RANK - 2)

/* Windows that overlap on an image; `more` of it is behind the last of them. */
typedef struct {
  size_t n;
  int64_t image[MOST_SPACE], block[MOST_SPACE], dilation[MOST_SPACE], stride[MOST_SPACE], pad[2 * MOST_SPACE];
  int64_t places[MOST_SPACE], more[MOST_SPACE];
  size_t block_size, all_places;
} folding;

/* The attribute's numbers from `least` on, n of them; or `absent` where there are none. */
static clarke_status
read_list(const clarke_lowering *low, const char *name, size_t n, int64_t least, int64_t absent, int64_t *list, clarke_error *err)
{
  const clarke_attr *a = clarke_model_attr(low->node, name);

  if (a != NULL && a->n != n)
    return clarke_lower_fail(low, err, "%s has %zu numbers; expected %zu", name, a->n, n);
  for (size_t i = 0; i < n; i++) {
    list[i] = a != NULL ? a->ints[i] : absent;
    if (list[i] < least || list[i] > INT32_MAX)
      return clarke_lower_fail(low, err, "%s has %lld", name, (long long)list[i]);
  }
  return CLARKE_OK;
}

static clarke_status
place_windows(folding *f, const clarke_lowering *low, clarke_error *err)
{
  f->block_size = f->all_places = 1;
  for (size_t a = 0; a < f->n; a++) {
    const int64_t reach = f->dilation[a] * (f->block[a] - 1) + 1, room = f->image[a] + f->pad[a] + f->pad[a + f->n] - reach;

    if (f->image[a] < 1 || f->image[a] > INT32_MAX || f->block[a] < 1 || f->block[a] > INT16_MAX || room < 0)
      return clarke_lower_fail(low, err, "axis %zu of the image has %lld entries, the window %lld", a, (long long)f->image[a],
                               (long long)f->block[a]);
    f->places[a] = room / f->stride[a] + 1;
    f->more[a] = room % f->stride[a];
    if (f->all_places > CLARKE_MAX_MAP / (size_t)f->places[a] || f->block_size > CLARKE_MAX_MAP / (size_t)f->block[a])
      return clarke_lower_too_large(low, err);
    f->all_places *= (size_t)f->places[a];
    f->block_size *= (size_t)f->block[a];
  }
  return CLARKE_OK;
}

static clarke_status
read_folding(folding *f, const clarke_lowering *low, clarke_error *err)
{
  const int64_t *image, *block;
  size_t n;
  clarke_status status = clarke_lower_integers(low, 1, &image, &f->n, err);

  if (status == CLARKE_OK)
    status = clarke_lower_integers(low, 2, &block, &n, err);
  if (status == CLARKE_OK && (n != f->n || n < 1 || n > MOST_SPACE))
    status = clarke_lower_fail(low, err, "an image of %zu axes and a window of %zu", f->n, n);
  for (size_t a = 0; status == CLARKE_OK && a < f->n; a++) {
    f->image[a] = image[a];
    f->block[a] = block[a];
  }
  if (status == CLARKE_OK)
    status = read_list(low, "dilations", f->n, 1, 1, f->dilation, err);
  if (status == CLARKE_OK)
    status = read_list(low, "strides", f->n, 1, 1, f->stride, err);
  if (status == CLARKE_OK)
    status = read_list(low, "pads", 2 * f->n, 0, 0, f->pad, err);
  return status == CLARKE_OK ? place_windows(f, low, err) : status;
}

/* Filter (c, k) of channel c puts its entry at place k of the window. */
static clarke_status
make_filters(const folding *f, size_t channels, clarke_lowering *low, size_t *filters, clarke_error *err)
{
  size_t dims[CLARKE_MAX_RANK] = {channels * f->block_size, 1};
  clarke_status status;

  for (size_t a = 0; a < f->n; a++)
    dims[a + 2] = (size_t)f->block[a];
  if (dims[0] > CLARKE_MAX_MAP / f->block_size)
    return clarke_lower_too_large(low, err);
  status = clarke_lower_made(low, f->n + 2, dims, filters, err);
  for (size_t i = 0; i < dims[0] && status == CLARKE_OK; i++)
    low->graph->values[*filters].real[i * f->block_size + i % f->block_size] = 1;
  return status;
}

static clarke_status
lower_fold(clarke_lowering *low, clarke_error *err)
{
  folding f;
  size_t dims[CLARKE_MAX_WHOLE], filters, x;
  int64_t spread[CLARKE_MAX_RANK] = {0};
  clarke_status status = clarke_lower_first(low, err);

  if (status == CLARKE_OK)
    status = read_folding(&f, low, err);
  if (status != CLARKE_OK)
    return status;
  if (clarke_axes_whole(low, 0, dims) != 3 || dims[1] % f.block_size != 0 || dims[2] != f.all_places)
    return clarke_lower_fail(low, err, "expected an input of 3 axes, the second a multiple of %zu, the third %zu", f.block_size, f.all_places);
  status = make_filters(&f, dims[1] / f.block_size, low, &filters, err);
  if (status != CLARKE_OK)
    return status;
  spread[1] = (int64_t)dims[1]; /* 0: the samples, as they are */
  for (size_t a = 0; a < f.n; a++)
    spread[a + 2] = f.places[a];
  x = clarke_inner_reshaped(low, low->in[0], spread, f.n + 2, err);
  const clarke_attr attr[] = {clarke_inner_int("group", (int64_t)(dims[1] / f.block_size)), clarke_inner_ints("strides", f.stride, f.n),
                              clarke_inner_ints("dilations", f.dilation, f.n), clarke_inner_ints("pads", f.pad, 2 * f.n),
                              clarke_inner_ints("output_padding", f.more, f.n)};

  x = x != CLARKE_NONE ? clarke_inner_node(low, "ConvTranspose", (size_t[]){x, filters}, 2, attr, 5, err) : x;
  return clarke_inner_done(low, 0, x, err);
}

/* --- AffineGrid: where theta puts the places of an image, from -1 to 1 along each axis. --- */

/* Rows x, y[, z], 1 for all places, as whole numbers: *scale has what they are divided by. */
static clarke_status
make_places(clarke_lowering *low, const int64_t *image, size_t n, bool corners, size_t *places, size_t *scale, clarke_error *err)
{
  size_t dims[2] = {1, n + 1};
  clarke_status status;

  for (size_t a = 0; a < n; a++) {
    if (image[a] < 1 + corners || (size_t)image[a] > CLARKE_MAX_MAP / (dims[0] * (n + 1)))
      return clarke_lower_fail(low, err, "the size has %lld; expected %d or more, and not too many places in all", (long long)image[a], 1 + corners);
    dims[0] *= (size_t)image[a];
  }
  status = clarke_lower_made(low, 1, &dims[1], scale, err);
  if (status == CLARKE_OK)
    status = clarke_lower_made(low, 2, dims, places, err);
  for (size_t a = 0; a <= n && status == CLARKE_OK; a++) { /* along axis n - 1 - a of the image */
    const size_t length = a < n ? (size_t)image[n - 1 - a] : 1;
    size_t behind = 1;

    for (size_t k = n - a; a < n && k < n; k++)
      behind *= (size_t)image[k];
    low->graph->values[*scale].real[a] = a < n ? (double)(length - corners) : 1;
    for (size_t row = 0; row < dims[0]; row++)
      low->graph->values[*places].real[row * (n + 1) + a] =
        a < n ? 2 * (double)(row / behind % length) + 1 - corners - (double)(length - corners) : 1;
  }
  return status;
}

static clarke_status
lower_affine_grid(clarke_lowering *low, clarke_error *err)
{
  static const int64_t turned[3] = {0, 2, 1};
  const bool corners = clarke_lower_int(low, "align_corners", 0) != 0;
  int64_t shape[CLARKE_MAX_WHOLE];
  const int64_t *size;
  size_t dims[CLARKE_MAX_WHOLE], rank, count, places, scale, y;
  clarke_status status = clarke_lower_first(low, err);

  if (status == CLARKE_OK)
    status = clarke_lower_integers(low, 1, &size, &count, err);
  if (status != CLARKE_OK)
    return status;
  rank = clarke_axes_of_run(low, 0, dims);
  if (rank != 3 || (dims[1] != 2 && dims[1] != 3) || dims[2] != dims[1] + 1 || count != dims[1] + 2 || size[0] != (int64_t)dims[0])
    return clarke_lower_fail(low, err, "expected theta of (N, 2, 3) or (N, 3, 4), and a size of N, channels and two or three axes");
  shape[0] = 0; /* the samples, as they are */
  for (size_t a = 0; a < dims[1]; a++)
    shape[a + 1] = size[a + 2];
  shape[dims[1] + 1] = (int64_t)dims[1];
  status = make_places(low, size + 2, dims[1], corners, &places, &scale, err);
  if (status != CLARKE_OK)
    return status;
  y = clarke_inner_of(low, "Div", low->in[0], scale, err);
  y = clarke_inner_of(low, "MatMul", places, clarke_inner_transposed(low, y, turned, 3, err), err);
  return clarke_inner_done(low, 0, clarke_inner_reshaped(low, y, shape, dims[1] + 2, err), err);
}

/* --- Upsample: a Resize, each place counted from the first. --- */

static clarke_status
lower_upsample(clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *mode = clarke_model_attr(low->node, "mode"), *given = clarke_model_attr(low->node, "scales");
  const clarke_attr attr[3] = {{.name = "mode", .type = CLARKE_ATTR_STRING, .s = mode != NULL ? mode->s : "nearest"},
                               {.name = "coordinate_transformation_mode", .type = CLARKE_ATTR_STRING, .s = "asymmetric"},
                               {.name = "nearest_mode", .type = CLARKE_ATTR_STRING, .s = "floor"}};
  size_t scales = low->n_in > 1 ? low->in[1] : CLARKE_NONE;
  clarke_status status = clarke_lower_first(low, err);

  if (status != CLARKE_OK)
    return status;
  if (low->opset >= 10 || strcmp(attr[0].s, "cubic") == 0)
    return clarke_lower_fail(low, err, low->opset >= 10 ? "the operator ends before operator set 10" : "mode is cubic; expected nearest or linear");
  if (given != NULL) {
    status = clarke_lower_made(low, 1, &given->n, &scales, err);
    if (status == CLARKE_OK && given->n > 0)
      memcpy(low->graph->values[scales].real, given->floats, given->n * sizeof *given->floats);
  }
  if (status == CLARKE_OK && scales == CLARKE_NONE)
    status = clarke_lower_fail(low, err, "no scales");
  if (status != CLARKE_OK)
    return status;
  return clarke_inner_done(low, 0, clarke_inner_node(low, "Resize", (size_t[]){low->in[0], CLARKE_NONE, scales}, 3, attr, 3, err), err);
}

const clarke_op clarke_ops_images[] = {
  {.name = "AffineGrid", .forms = {{20, 2, 2, 1, "align_corners:b"}}, .lower = lower_affine_grid},
  {.name = "CenterCropPad", .forms = {{18, 2, 2, 1, "axes:I"}}, .lower = lower_center},
  {.name = "Col2Im", .forms = {{18, 3, 3, 1, "dilations:I pads:I strides:I"}}, .lower = lower_fold},
  {.name = "Upsample", .forms = {{7, 1, 1, 1, "mode:s scales:F"}, {9, 2, 2, 1, "mode:s"}}, .lower = lower_upsample, .batch = CLARKE_BATCH_ANY},
  {.name = NULL},
};
