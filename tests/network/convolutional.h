/* Random convolutional networks: each layer is drawn so that its windows fit the activation before.
 * The activation is channels by one or two axes. */
#ifndef CLARKE_TESTS_NETWORK_CONVOLUTIONAL_H
#define CLARKE_TESTS_NETWORK_CONVOLUTIONAL_H

#include "networks.h"

typedef struct {
  size_t axes;
  long kernel[2], stride[2], dilation[2], before[2], after[2];
  size_t out[2];
} drawn_window;

/* Has every window along the axis an entry that is no padding? */
static inline bool
window_has_entries(const drawn_window *w, size_t a, size_t in)
{
  for (size_t p = 0; p < w->out[a]; p++) {
    bool any = false;

    for (long k = 0; k < w->kernel[a]; k++) {
      long at = (long)p * w->stride[a] + k * w->dilation[a] - w->before[a];

      any = any || (at >= 0 && at < (long)in);
    }
    if (!any)
      return false;
  }
  return true;
}

static inline bool
window_fits(drawn_window *w, size_t a, size_t in)
{
  long room = (long)in + w->before[a] + w->after[a] - (w->kernel[a] - 1) * w->dilation[a] - 1;

  w->out[a] = room < 0 ? 0 : (size_t)(room / w->stride[a] + 1);
  return w->out[a] > 0 && window_has_entries(w, a, in);
}

/* Plain: no padding, no dilation. Kernels from least on, where these fit. */
static inline void
draw_window(drawn_window *w, growing *g, bool plain, long least)
{
  w->axes = g->rank - 1;
  for (size_t a = 0; a < w->axes; a++)
    do {
      w->kernel[a] = draw_between(g->state, g->dims[a + 1] >= (size_t)least ? least : 1, 3);
      w->stride[a] = draw_between(g->state, 1, 2);
      w->dilation[a] = plain || draw_below(g->state, 4) > 0 ? 1 : 2;
      w->before[a] = plain ? 0 : (long)draw_below(g->state, 2);
      w->after[a] = plain ? 0 : (long)draw_below(g->state, 2);
    } while (!window_fits(w, a, g->dims[a + 1]));
}

static inline void
attr_list(clarke_model_node *node, const char *name, size_t n, const long *a, const long *b)
{
  long list[5];

  for (size_t i = 0; i < n; i++) {
    list[i] = a[i];
    list[n + i] = b != NULL ? b[i] : SHAPE_END;
  }
  list[b != NULL ? 2 * n : n] = SHAPE_END;
  attr_ints(node, name, list);
}

/* The node's attributes, and the activation's new extents. */
static inline void
grow_windows(growing *g, clarke_model_node *node, const drawn_window *w, bool dilated)
{
  attr_list(node, "kernel_shape", w->axes, w->kernel, NULL);
  attr_list(node, "strides", w->axes, w->stride, NULL);
  if (dilated)
    attr_list(node, "dilations", w->axes, w->dilation, NULL);
  attr_list(node, "pads", w->axes, w->before, w->after);
  for (size_t a = 0; a < w->axes; a++)
    g->dims[a + 1] = w->out[a];
}

/* outputs: so many channels; groups when they divide them and the input's. */
static inline void
grow_conv_of(growing *g, const drawn_window *w, size_t outputs)
{
  size_t groups = draw_below(g->state, 2) && outputs % g->dims[0] == 0 ? g->dims[0] : 1;
  size_t dims[4] = {outputs, g->dims[0] / groups};
  char weight[16], both[40];
  clarke_model_node *node;

  for (size_t a = 0; a < w->axes; a++)
    dims[2 + a] = (size_t)w->kernel[a];
  strcpy(weight, a_weight(g, 2 + w->axes, dims, false));
  snprintf(both, sizeof both, "%s", weight);
  if (draw_below(g->state, 2))
    snprintf(both, sizeof both, "%s,%s", weight, a_weight(g, 1, &outputs, false));
  node = grow_node(g, "Conv", both, false);
  grow_windows(g, node, w, true);
  if (groups > 1)
    attr_int(node, "group", (int64_t)groups);
  g->dims[0] = outputs;
}

static inline void
grow_conv(growing *g, size_t most_outputs, bool plain)
{
  drawn_window w;

  draw_window(&w, g, plain, 1);
  grow_conv_of(g, &w, 1 + draw_below(g->state, most_outputs));
}

static inline void
grow_maxpool(growing *g, bool plain)
{
  drawn_window w;

  draw_window(&w, g, plain, 2);
  grow_windows(g, grow_node(g, "MaxPool", NULL, false), &w, true);
}

static inline void
grow_average(growing *g)
{
  drawn_window w;
  clarke_model_node *node;

  if (draw_below(g->state, 3) == 0) {
    grow_node(g, "GlobalAveragePool", NULL, false);
    for (size_t a = 1; a < g->rank; a++)
      g->dims[a] = 1;
    return;
  }
  draw_window(&w, g, false, 1);
  for (size_t a = 0; a < w.axes; a++) /* no dilations before opset 19 */
    if (w.dilation[a] == 2) {
      w.dilation[a] = 1;
      if (!window_fits(&w, a, g->dims[a + 1]))
        return;
    }
  node = grow_node(g, "AveragePool", NULL, false);
  if (draw_below(g->state, 2))
    attr_int(node, "count_include_pad", 1);
  grow_windows(g, node, &w, false);
}

/* epsilon 1/4; the roots are 1/2, 1, 2. */
static inline void
grow_batchnorm(growing *g)
{
  static const double squares[] = {0, 0.75, 3.75};
  char scale[16], bias[16], mean[16], var[16], all[80];
  double *v;

  strcpy(scale, a_weight(g, 1, g->dims, false));
  strcpy(bias, a_weight(g, 1, g->dims, false));
  strcpy(mean, new_name(g, "s"));
  strcpy(var, new_name(g, "s"));
  v = model_floats(&g->m, mean, SHAPE((long)g->dims[0],));
  for (size_t c = 0; c < g->dims[0]; c++)
    v[c] = g->number(g->state);
  v = model_floats(&g->m, var, SHAPE((long)g->dims[0],));
  for (size_t c = 0; c < g->dims[0]; c++)
    v[c] = squares[draw_below(g->state, 3)];
  snprintf(all, sizeof all, "%s,%s,%s,%s", scale, bias, mean, var);
  attr_float(grow_node(g, "BatchNormalization", all, false), "epsilon", 0.25);
}

/* x + conv(x) of the same shape. */
static inline void
grow_residual(growing *g)
{
  drawn_window w = {.axes = g->rank - 1};
  char before[16];

  strcpy(before, g->at);
  for (size_t a = 0; a < w.axes; a++) {
    w.kernel[a] = draw_below(g->state, 2) ? 3 : 1;
    w.stride[a] = w.dilation[a] = 1;
    w.before[a] = w.after[a] = w.kernel[a] / 2;
    w.out[a] = g->dims[a + 1];
  }
  grow_conv_of(g, &w, g->dims[0]);
  grow_node(g, "Add", before, draw_below(g->state, 2));
}

/* The activation beside itself, its positive part, or a constant, along some axis of a sample. A constant has
 * one entry along the batch axis, so that then each sample must be a run of its own. */
static inline void
grow_concat(growing *g)
{
  size_t axis = draw_below(g->state, g->rank), kind = draw_below(g->state, 3), more = g->dims[axis];
  char beside[16];

  strcpy(beside, g->at);
  if (kind == 0)
    grow_node(g, "Relu", NULL, false);
  if (kind == 1) {
    size_t dims[4] = {1};

    memcpy(dims + 1, g->dims, g->rank * sizeof *dims);
    g->m.inputs[0].dims[0] = 1;
    dims[axis + 1] = more = 1 + draw_below(g->state, 2);
    strcpy(beside, a_weight(g, g->rank + 1, dims, false));
  }
  attr_int(grow_node(g, "Concat", beside, draw_below(g->state, 2)), "axis", (int64_t)axis + 1);
  g->dims[axis] += more;
}

static inline void
grow_pad(growing *g)
{
  char name[16];
  int64_t *pads;

  strcpy(name, new_name(g, "n"));
  pads = model_integers(&g->m, name, SHAPE(2 * ((long)g->rank + 1),));
  for (size_t a = 1; a < g->rank; a++) {
    pads[a + 1] = (int64_t)draw_below(g->state, 2);
    pads[g->rank + 1 + a + 1] = (int64_t)draw_below(g->state, 2);
    g->dims[a] += (size_t)(pads[a + 1] + pads[g->rank + 1 + a + 1]);
  }
  grow_node(g, "Pad", name, false);
}

static inline void
grow_flatten(growing *g)
{
  size_t count = grown_count(g);

  grow_node(g, "Flatten", NULL, false);
  g->rank = 1;
  g->dims[0] = count;
}

/* Entries of a row as channels of one axis each. */
static inline void
grow_channels(growing *g, size_t channels)
{
  int64_t list[3] = {-1, (int64_t)channels, (int64_t)(g->dims[0] / channels)};

  grow_integers(g, "Reshape", 3, list);
  g->rank = 2;
  g->dims[1] = g->dims[0] / channels;
  g->dims[0] = channels;
}

/* x W, or with a bias. */
static inline void
grow_dense(growing *g, size_t outputs)
{
  size_t dims[2] = {g->dims[0], outputs};

  grow_node(g, "MatMul", a_weight(g, 2, dims, false), false);
  if (draw_below(g->state, 2))
    grow_node(g, "Add", a_weight(g, 1, &outputs, false), false);
  g->dims[0] = outputs;
}

static inline void
grow_kink(growing *g)
{
  static const char *const ops[] = {"Relu", "Relu", "Relu", "Abs", "LeakyRelu"};
  const char *op = ops[draw_below(g->state, 5)];
  clarke_model_node *node = grow_node(g, op, NULL, false);

  if (op[0] == 'L')
    attr_float(node, "alpha", draw_below(g->state, 2) ? 0.25 : -1);
}

/* Begins a model whose sample has these axes. */
static inline void
grow_begin(growing *g, uint64_t *state, double (*number)(uint64_t *state), size_t rank,
           const size_t *dims)
{
  long shape[CLARKE_MAX_RANK + 2] = {-1};

  memset(g, 0, sizeof *g);
  g->state = state;
  g->number = number;
  g->rank = rank;
  for (size_t a = 0; a < rank; a++)
    shape[a + 1] = (long)(g->dims[a] = dims[a]);
  shape[rank + 1] = SHAPE_END;
  model_begin(&g->m, 16);
  model_input(&g->m, "x", shape);
  strcpy(g->at, "x");
}

/* Samples of the model's input: entries drawn, sometimes all equal along the last axis, sometimes a
 * sample like the one before. */
static inline clarke_tensor
grow_batch(const growing *g, size_t samples)
{
  const clarke_model_port *in = &g->m.inputs[0];
  long shape[CLARKE_MAX_RANK + 2];
  size_t each, last = (size_t)in->dims[in->rank - 1];
  clarke_tensor x;

  for (size_t a = 0; a < in->rank; a++)
    shape[a] = a == 0 ? (long)samples : in->dims[a];
  shape[in->rank] = SHAPE_END;
  x = tensor_of("x", CLARKE_F64, shape);
  each = x.count / samples;
  for (size_t j = 0; j < samples; j++) {
    bool flat = draw_below(g->state, 4) == 0, again = j > 0 && draw_below(g->state, 6) == 0;

    for (size_t e = j * each; e < (j + 1) * each; e++)
      x.real[e] = again                    ? x.real[e - each]
                  : flat && e % last > 0 ? x.real[e - 1]
                                           : g->number(g->state);
  }
  return x;
}

/* Anything that keeps channels with an axis or two. */
static inline void
grow_anything(growing *g)
{
  static const char *const arithmetic[] = {"Add", "Sub", "Mul", "Div"};

  switch (draw_below(g->state, 15)) {
  case 0:
  case 1:
    grow_conv(g, 2, draw_below(g->state, 2));
    break;
  case 2:
    grow_concat(g);
    break;
  case 3:
    grow_pad(g);
    break;
  case 4:
    grow_average(g);
    break;
  case 5:
    grow_batchnorm(g);
    break;
  case 6:
  case 7:
    grow_arithmetic(g, arithmetic[draw_below(g->state, 4)]);
    break;
  case 8:
    grow_maxpool(g, draw_below(g->state, 2));
    break;
  case 9:
    grow_residual(g);
    break;
  case 10:
    grow_larger(g);
    break;
  case 11:
    grow_extremum(g);
    break;
  case 12:
    grow_repeated(g);
    break;
  default:
    grow_pointwise(g);
    break;
  }
}

/* A model that pools at its end, whatever is before. */
static inline void
grow_convolutional(growing *g, uint64_t *state, double (*number)(uint64_t *state))
{
  size_t dims[3] = {1 + draw_below(state, 2), 1 + draw_below(state, 4), 1 + draw_below(state, 3)};

  grow_begin(g, state, number, 2 + draw_below(state, 2), dims);
  for (size_t n = 1 + draw_below(state, 6); n > 0 && grown_count(g) < 60; n--)
    grow_anything(g);
  if (draw_below(state, 3) == 0) {
    grow_flatten(g);
    if (draw_below(state, 2))
      grow_gemm(g);
    grow_channels(g, 1);
  }
  grow_maxpool(g, draw_below(state, 2));
  grow_kink(g);
  model_output(&g->m, g->at);
}

#endif
