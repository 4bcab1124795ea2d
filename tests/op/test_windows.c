/* Operators of convolutional networks: what their steps compute, read by an interpreter of steps
 * (steps.h), against the operators' definitions (network/naive.h), exactly; the steps they lower to;
 * and every refusal's words. */
#include "../network/naive.h"
#include "steps.h"

#include "op/operator.h"
#include "network/graph/build.h"

#include <math.h>

static clarke_error error;

/* One model, graph and batch at a time. */
static clarke_model m;
static clarke_graph g;
static clarke_tensor x;
static uint64_t state;

/* --- models ---------------------------------------------------------------------------------- */

static void
begin(int64_t opset, const long *input)
{
  model_begin(&m, opset);
  model_input(&m, "x", input);
  clarke_graph_init(&g);
}

static void
fill(double *v, size_t n)
{
  for (size_t i = 0; i < n; i++)
    v[i] = (double)draw_between(&state, -4, 4);
}

static void
drawn(const char *name, const long *shape)
{
  double *v = model_floats(&m, name, shape);

  fill(v, m.tensors[m.n_tensors - 1].count);
}

static void
integers(const char *name, const long *list)
{
  int64_t *v = model_integers(&m, name, SHAPE((long)shape_rank(list),));

  for (size_t i = 0; i < shape_rank(list); i++)
    v[i] = list[i];
}

static clarke_status
build(const long *batch)
{
  x = tensor_of("x", CLARKE_F64, batch);
  fill(x.real, x.count);
  if (m.n_outputs == 0)
    model_output(&m, m.nodes[m.n_nodes - 1].out[0]);
  return clarke_graph_build(&g, &m, &x, &error);
}

static void
end(void)
{
  clarke_tensor_clear(&x);
  clarke_graph_clear(&g);
  clarke_model_clear(&m);
}

static void
refused(const long *batch, const char *pieces)
{
  ck_assert_msg(build(batch) != CLARKE_OK, "accepted; expected \"%s\"", pieces);
  says(error.text, "net.onnx");
  says(error.text, pieces);
  end();
}

/* Only values are compared here. */
static void
any_slope(mpq_t slope, const char *op, size_t kink, const mpq_t left, const mpq_t right)
{
  (void)op;
  (void)kink;
  (void)right;
  mpq_set(slope, left);
}

/* The steps' output at every sample is the definition's. */
static void
agree(void)
{
  size_t each = x.count / x.dims[0], count = g.values[g.output].count;
  static naive_run whole = {.proxy = any_slope};
  steps_run steps;

  steps_begin(&steps, &g);
  for (size_t s = 0; s < x.dims[0]; s++) {
    clarke_tensor sample = x;
    const naive *y;

    sample.real += s * each;
    sample.count = each;
    sample.dims[0] = 1;
    if (!g.batched)
      memmove(sample.dims, sample.dims + 1, --sample.rank * sizeof sample.dims[0]);
    naive_begin(&whole, &m, &sample);
    naive_go(&whole);
    y = naive_find(&whole, m.outputs[0].name);
    steps_go(&steps, &x, s);
    ck_assert_uint_eq(y->count, count);
    ck_assert_uint_eq(y->rank, g.values[g.output].rank + (g.batched ? 1 : 0));
    for (size_t a = 0; a < g.values[g.output].rank; a++)
      ck_assert_uint_eq(y->dims[a + (g.batched ? 1 : 0)], g.values[g.output].dims[a]);
    for (size_t e = 0; e < count; e++)
      if (!mpq_equal(y->v[e], steps.value[g.output][e]))
        ck_abort_msg("entry %zu: %g, expected %g", e, mpq_get_d(steps.value[g.output][e]),
                     mpq_get_d(y->v[e]));
    naive_clear(&whole);
  }
  steps_end(&steps);
}

static void
check(const long *batch)
{
  ck_assert_msg(build(batch) == CLARKE_OK, "%s", error.text);
  agree();
}

/* The kinds of the steps, a letter each. */
static void
lowers_to(const char *kinds)
{
  static const char letter[] = {[CLARKE_GATHER] = 'g', [CLARKE_SUM] = '+', [CLARKE_SCALE] = '*',
                                [CLARKE_DENSE] = 'd', [CLARKE_PIECEWISE] = 'p',
                                [CLARKE_ANALYTIC] = 'a', [CLARKE_SOFTMAX] = 's',
                                [CLARKE_NORMALIZE] = 'n', [CLARKE_MAX] = 'm'};
  char found[64] = "";

  for (size_t i = 0; i < g.n_steps; i++)
    found[i] = letter[g.steps[i].kind];
  ck_assert_str_eq(found, kinds);
}

/* --- random geometries ----------------------------------------------------------------------- */

typedef struct {
  size_t axes;
  bool batched;
  long input[5], batch[6]; /* declared; of the array */
  long channels;
} drawn_input;

static drawn_input
draw_input(size_t axes, long channels)
{
  drawn_input in = {.axes = axes, .batched = draw_below(&state, 4) > 0, .channels = channels};
  long whole = draw_between(&state, 1, 2);
  size_t n = 0;

  if (!in.batched)
    in.batch[n++] = 3;
  in.batch[n++] = whole;
  in.batch[n++] = channels;
  in.input[0] = in.batched ? -1 : whole;
  in.input[1] = channels;
  for (size_t a = 0; a < axes; a++)
    in.batch[n++] = in.input[a + 2] = draw_between(&state, 1, axes == 1 ? 9 : 6);
  in.batch[n] = in.input[axes + 2] = SHAPE_END;
  return in;
}

static void
draw_list(clarke_model_node *node, const char *name, size_t n, long low, long high)
{
  long list[5];

  for (size_t i = 0; i < n; i++)
    list[i] = draw_between(&state, low, high);
  list[n] = SHAPE_END;
  attr_ints(node, name, list);
}

/* Strides, dilations, padding by hand or by rule, for a kernel that is there already. */
static void
draw_geometry(clarke_model_node *node, size_t axes, long most, bool pool)
{
  static const char *const rules[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
  size_t rule = draw_below(&state, 4);

  if (draw_below(&state, 2))
    draw_list(node, "strides", axes, 1, 3);
  if (draw_below(&state, 3) == 0 && m.opset >= (!pool ? 7 : node->op_type[0] == 'M' ? 10 : 19))
    draw_list(node, "dilations", axes, 1, 2);
  if (rule > 0 || draw_below(&state, 2))
    attr_string(node, "auto_pad", rules[rule]);
  if (rule == 0 && draw_below(&state, 3))
    draw_list(node, "pads", 2 * axes, 0, most);
  if (pool && m.opset >= 10 && (rule == 0 || draw_below(&state, 2)))
    attr_int(node, "ceil_mode", rule == 0 && draw_below(&state, 2));
}

/* Is there an output, and, for a pooling, an entry in every window? */
static bool
fits(const clarke_model_node *node, const drawn_input *in, const long *kernel, bool pool)
{
  naive fake = {.rank = in->axes + 2}, weight = {.rank = in->axes + 2};
  naive_window w;

  for (size_t a = 0; a < in->axes; a++) {
    fake.dims[a + 2] = (size_t)in->input[a + 2];
    weight.dims[a + 2] = (size_t)kernel[a];
  }
  naive_window_set(&w, node, &fake, &weight);
  if (w.out[0] <= 0 || w.out[1] <= 0 || w.cropped)
    return false;
  for (long p = 0; p < w.out[0] * w.out[1]; p++) {
    bool entry = !pool;

    for (long k = 0; k < w.kernel[0] * w.kernel[1]; k++)
      entry = entry || naive_tap(&w, p / w.out[1], p % w.out[1], k / w.kernel[1],
                                 k % w.kernel[1]) >= 0;
    if (!entry)
      return false;
  }
  return true;
}

static void
draw_kernel(long *kernel, const drawn_input *in)
{
  for (size_t a = 0; a < in->axes; a++) {
    long most = in->input[a + 2] < 4 ? in->input[a + 2] : 4;

    kernel[a] = draw_between(&state, 1, draw_below(&state, 8) ? most : 4);
  }
  kernel[in->axes] = SHAPE_END;
}

/* True when it was built and agreed; false when it was refused as it must be. */
static bool
one_convolution(void)
{
  long groups = draw_between(&state, 1, 3), each = draw_between(&state, 1, 2);
  long outputs = groups * draw_between(&state, 1, 2), kernel[3], weight[5] = {outputs, each};
  drawn_input in = draw_input(1 + draw_below(&state, 2), groups * each);
  bool bias = draw_below(&state, 2), whole = !in.batched && in.input[0] > 1 && groups > 1, fine;
  clarke_model_node *node;
  size_t last;

  draw_kernel(kernel, &in);
  memcpy(weight + 2, kernel, 3 * sizeof *weight);
  begin((int64_t)draw_between(&state, 7, 25), in.input);
  drawn("W", weight);
  drawn("b", SHAPE(outputs,));
  node = model_node(&m, "Conv", bias ? "x,W,b" : "x,W", "y");
  if (groups > 1 || draw_below(&state, 2))
    attr_int(node, "group", groups);
  if (draw_below(&state, 2))
    attr_ints(node, "kernel_shape", kernel);
  draw_geometry(node, in.axes, 3, false);
  fine = fits(node, &in, kernel, false);
  if (!fine) {
    refused(in.batch, "(Conv): |entries");
    return false;
  }
  check(in.batch);
  ck_assert_uint_eq(g.n_parameters, bias ? 2 : 1);
  last = g.n_steps - 1 - whole; /* a group's channels are gathered from several samples, and put back */
  ck_assert_int_eq(g.steps[last].kind, bias ? CLARKE_SUM : CLARKE_DENSE);
  ck_assert_int_eq(g.steps[last - bias].dense.grouped, groups > 1);
  ck_assert_str_eq(g.values[g.output].name, "y");
  end();
  return true;
}

START_TEST(convolutions)
{
  size_t built = 0;

  state = 1;
  for (size_t i = 0; i < 3000; i++)
    built += one_convolution();
  ck_assert_uint_gt(built, 2000);
}
END_TEST

static bool
one_pooling(bool max)
{
  drawn_input in = draw_input(1 + draw_below(&state, 2), draw_between(&state, 1, 3));
  clarke_model_node *node;
  long kernel[3];
  bool fine;

  draw_kernel(kernel, &in);
  begin((int64_t)draw_between(&state, 7, 25), in.input);
  node = model_node(&m, max ? "MaxPool" : "AveragePool", "x", "y");
  attr_ints(node, "kernel_shape", kernel);
  draw_geometry(node, in.axes, 2, true);
  if (!max && draw_below(&state, 2))
    attr_int(node, "count_include_pad", (int64_t)draw_below(&state, 2));
  fine = fits(node, &in, kernel, true);
  if (!fine) {
    refused(in.batch, max ? "(MaxPool): " : "(AveragePool): ");
    return false;
  }
  check(in.batch);
  if (max) {
    lowers_to("m");
    ck_assert_str_eq(g.steps[0].op->name, "MaxPool");
    ck_assert_uint_eq(g.steps[0].width, (size_t)(kernel[0] * (in.axes == 2 ? kernel[1] : 1)));
  }
  end();
  return true;
}

START_TEST(poolings)
{
  size_t built = 0;

  state = 2;
  for (size_t i = 0; i < 4000; i++)
    built += one_pooling(i % 2);
  ck_assert_uint_gt(built, 2400);
}
END_TEST

START_TEST(means)
{
  state = 3;
  for (size_t i = 0; i < 1500; i++) {
    size_t rank = 1 + draw_below(&state, 4), n = 0;
    bool batched = draw_below(&state, 4) > 0, late = draw_below(&state, 2);
    long input[8] = {batched ? -1 : 2}, batch[8], list[8], *at = batch;
    clarke_model_node *node;

    if (!batched)
      *at++ = 2;
    *at++ = 2;
    for (size_t a = 1; a <= rank; a++) {
      *at++ = input[a] = draw_between(&state, 1, 4);
      if (draw_below(&state, 2))
        list[n++] = draw_below(&state, 2) ? (long)a : (long)a - (long)rank - 1;
    }
    *at = input[rank + 1] = list[n] = SHAPE_END;
    begin(late ? 18 : 13, input);
    if (late && n > 0)
      integers("a", list);
    node = model_node(&m, "ReduceMean", late && n > 0 ? "x,a" : "x", "y");
    if (!late && n > 0)
      attr_ints(node, "axes", list);
    if (draw_below(&state, 2))
      attr_int(node, "keepdims", (int64_t)draw_below(&state, 2));
    if (late && draw_below(&state, 2))
      attr_int(node, "noop_with_empty_axes", 1);
    if (batched && n == 0 && naive_int(node, "noop_with_empty_axes", 0) == 0) {
      refused(batch, "'/y' (ReduceMean): a mean over the batch axis (no axes are all axes)");
      continue;
    }
    check(batch);
    end();
  }
}
END_TEST

START_TEST(global_averages)
{
  begin(16, SHAPE(-1, 3, 4, 2,));
  model_node(&m, "GlobalAveragePool", "x", "y");
  check(SHAPE(5, 3, 4, 2,));
  lowers_to("d*"); /* the planes lie as they must */
  ck_assert_uint_eq(g.n_parameters, 0);
  ck_assert(g.steps[1].divide && !g.values[g.steps[1].in[1].value].initializer);
  end();
  begin(16, SHAPE(2, 3, 4,));
  model_node(&m, "GlobalAveragePool", "x", "y");
  check(SHAPE(5, 2, 3, 4,));
  end();
  begin(18, SHAPE(-1, 3, 2, 4,)); /* apart */
  integers("a", SHAPE(1, 3,));
  model_node(&m, "ReduceMean", "x,a", "y");
  check(SHAPE(5, 3, 2, 4,));
  lowers_to("gd*");
  end();
  begin(16, SHAPE(-1, 3,));
  model_node(&m, "GlobalAveragePool", "x", "y");
  refused(SHAPE(5, 3,), "(GlobalAveragePool): an input of 2 axes; expected a batch, channels and one");
}
END_TEST

START_TEST(global_maxima)
{
  begin(16, SHAPE(-1, 3, 4, 2,));
  model_node(&m, "GlobalMaxPool", "x", "y");
  check(SHAPE(5, 3, 4, 2,));
  lowers_to("m");
  ck_assert_uint_eq(g.steps[0].width, 8);
  end();
  begin(16, SHAPE(2, 3, 4,));
  model_node(&m, "GlobalMaxPool", "x", "y");
  check(SHAPE(5, 2, 3, 4,));
  end();
  begin(16, SHAPE(-1, 1, 2, 3, 2,)); /* three spatial axes */
  model_node(&m, "GlobalMaxPool", "x", "y");
  check(SHAPE(2, 1, 2, 3, 2,));
  end();
  begin(16, SHAPE(-1, 3,));
  model_node(&m, "GlobalMaxPool", "x", "y");
  refused(SHAPE(5, 3,), "(GlobalMaxPool): an input of 2 axes; expected a batch, channels and one");
  begin(16, SHAPE(-1, 1, 4097,));
  model_node(&m, "GlobalMaxPool", "x", "y");
  refused(SHAPE(1, 1, 4097,), "(GlobalMaxPool): a window of 4097 entries; at most 4096 are supported");
}
END_TEST

START_TEST(extremes)
{
  static const char *const reduced[] = {"ReduceMax", "ReduceMin"}, *const pair[] = {"Max", "Min"};

  for (size_t least = 0; least < 2; least++) {
    begin(17, SHAPE(-1, 3, 4, 2,));
    attr_ints(model_node(&m, reduced[least], "x", "y"), "axes", SHAPE(1, -1,));
    check(SHAPE(5, 3, 4, 2,));
    lowers_to(least == 1 ? "+m+" : "m");
    ck_assert_uint_eq(g.steps[least].width, 6);
    end();
    begin(18, SHAPE(2, 3, 4,));
    integers("a", SHAPE(1,));
    attr_int(model_node(&m, reduced[least], "x,a", "y"), "keepdims", 0);
    check(SHAPE(5, 2, 3, 4,));
    end();
    begin(18, SHAPE(2, 3,)); /* a run each, all axes */
    model_node(&m, reduced[least], "x", "y");
    check(SHAPE(4, 2, 3,));
    ck_assert_str_eq(g.steps[least].op->name, reduced[least]);
    end();
    begin(13, SHAPE(-1, 3, 4,));
    drawn("w", SHAPE(3, 1,));
    model_node(&m, pair[least], "x,w", "y");
    model_node(&m, pair[least], "w,y", "z");
    model_node(&m, "Sub", "w,x", "v");
    model_node(&m, pair[least], "z,v", "u");
    model_output(&m, "u");
    check(SHAPE(5, 3, 4,));
    lowers_to(least == 1 ? "+m++m+++m+" : "+m+m++m");
    ck_assert_str_eq(g.steps[1].op->name, least == 1 ? "Minimum" : "Maximum");
    ck_assert_uint_eq(g.n_parameters, 1);
    end();
    begin(13, SHAPE(-1, 3,));
    model_node(&m, pair[least], "x", "y");
    check(SHAPE(2, 3,));
    end();
    begin(13, SHAPE(-1, 3, 4,)); /* of several */
    drawn("w", SHAPE(3, 1,));
    drawn("v", SHAPE(1, 3, 4,));
    model_node(&m, "Mul", "x,w", "z");
    model_node(&m, pair[least], "w,x,v,z", "y"); /* a constant first */
    model_node(&m, pair[least], "x,x,w", "u");
    model_node(&m, "Sub", "y,u", "t");
    model_output(&m, "t");
    check(SHAPE(5, 3, 4,));
    lowers_to(least == 1 ? "*+m++m++" : "*+m+m+");
    end();
  }
}
END_TEST

/* A line of each length along either axis: k of it, upwards and downwards, with many equal entries. */
START_TEST(sorted)
{
  static const char *const kinds[] = {"", "+m+", "+m+m+", "+m+m+m+", "+m+m+m+m+", "+m+m+m+m+m+"};

  state = 5;
  for (size_t i = 0; i < 300; i++) {
    const long length = draw_between(&state, 1, 5), k = draw_between(&state, 1, length);
    const bool last = draw_below(&state, 2), largest = draw_below(&state, 2), own = draw_below(&state, 3) == 0;
    const long opset = own || !largest ? 11 : 7 + 2 * (long)draw_below(&state, 3); /* 7, 9, 11 */
    clarke_model_node *node;

    begin(opset, last ? SHAPE(-1, 2, length,) : SHAPE(-1, length, 3,));
    if (opset >= 10)
      model_integers(&m, "k", SHAPE(1,))[0] = k;
    node = model_node(&m, own ? "Sorted" : "TopK", opset >= 10 ? "x,k" : "x", own ? "y" : "y,places");
    if (own) {
      free(node->domain);
      node->domain = strdup(CLARKE_DOMAIN);
    }
    if (opset < 10)
      attr_int(node, "k", k);
    if (!last || draw_below(&state, 2))
      attr_int(node, "axis", last ? 2 - 3 * (int64_t)draw_below(&state, 2) : 1);
    if (!largest)
      attr_int(node, "largest", 0);
    check(last ? SHAPE(4, 2, length,) : SHAPE(4, length, 3,));
    lowers_to(k > 1 ? kinds[length] : largest ? "m+" : "+m+");
    end();
  }
}
END_TEST

START_TEST(bad_sorted)
{
  begin(11, SHAPE(-1, 3,));
  model_integers(&m, "k", SHAPE(1,))[0] = 4;
  model_node(&m, "TopK", "x,k", "y");
  refused(SHAPE(2, 3,), "(TopK): k is 4; expected 1 to 3, the entries along the axis");
  begin(11, SHAPE(-1, 3,));
  model_integers(&m, "k", SHAPE(2,))[0] = 1;
  model_node(&m, "TopK", "x,k", "y");
  refused(SHAPE(2, 3,), "(TopK): input 1 has 2 entries; expected a list of one number");
  begin(9, SHAPE(-1, 3,));
  model_node(&m, "TopK", "x", "y");
  refused(SHAPE(2, 3,), "(TopK): k is 0; expected 1 to 3");
  begin(11, SHAPE(-1, 3,));
  model_integers(&m, "k", SHAPE(1,))[0] = 1;
  attr_int(model_node(&m, "TopK", "x,k", "y"), "axis", 0);
  refused(SHAPE(2, 3,), "(TopK): axis 0 is the batch, or merged with it: samples would be mixed");
  begin(11, SHAPE(-1, 3,));
  model_integers(&m, "k", SHAPE(1,))[0] = 2;
  attr_int(model_node(&m, "TopK", "x,k", "y"), "sorted", 0);
  refused(SHAPE(2, 3,), "(TopK): sorted is 0: the order of the values is not said; expected 1");
  begin(11, SHAPE(-1, 127,));
  model_integers(&m, "k", SHAPE(1,))[0] = 1;
  model_node(&m, "TopK", "x,k", "y");
  refused(SHAPE(2, 127,), "(TopK): 127 entries along the axis; from 1 to 126 are supported");
  begin(11, SHAPE(-1, 3,));
  model_integers(&m, "k", SHAPE(1,))[0] = 1;
  model_node(&m, "Sorted", "x,k", "y");
  refused(SHAPE(2, 3,), "Sorted");
  begin(11, SHAPE(-1, 3,));
  model_integers(&m, "k", SHAPE(1,))[0] = 2;
  model_node(&m, "TopK", "x,k", "y,places");
  model_node(&m, "Gather", "x,places", "z");
  refused(SHAPE(2, 3,), "places");
}
END_TEST

START_TEST(bad_extremes)
{
  static char many[2 * 127];

  begin(18, SHAPE(-1, 3,));
  model_node(&m, "ReduceMax", "x", "y");
  refused(SHAPE(5, 3,), "(ReduceMax): a maximum over the batch axis (no axes are all axes)");
  begin(18, SHAPE(-1, 127,));
  attr_int(model_node(&m, "ReduceMin", "x", "y"), "noop_with_empty_axes", 1);
  ck_assert_msg(build(SHAPE(2, 127,)) == CLARKE_OK, "%s", error.text);
  lowers_to("g");
  end();
  begin(17, SHAPE(-1, 4097,));
  attr_ints(model_node(&m, "ReduceMin", "x", "y"), "axes", SHAPE(1,));
  refused(SHAPE(2, 4097,), "(ReduceMin): the minimum of 4097 entries; from 1 to 4096 are supported. Of more, take it in two steps");
  begin(17, SHAPE(-1, 2,));
  memset(many, 'x', sizeof many - 1);
  for (size_t i = 1; i < sizeof many - 1; i += 2)
    many[i] = ',';
  model_node(&m, "Max", many, "y");
  refused(SHAPE(2, 2,), "(Max): 127 inputs; at most 126 are supported. Of more, take it of parts, and of these");
  begin(17, SHAPE(-1, 2,));
  drawn("w", SHAPE(2,));
  drawn("v", SHAPE(3,));
  model_node(&m, "Max", "x,w,v", "y");
  refused(SHAPE(2, 2,), "(Max): axes of 2 and 3 do not broadcast");
  begin(17, SHAPE(-1, 2,));
  drawn("w", SHAPE(3, 2,));
  model_node(&m, "Max", "w,w,x", "y");
  refused(SHAPE(2, 2,), "(Max): a constant of 3 entries along the batch axis");
  begin(17, SHAPE(-1, 2,));
  drawn("w", SHAPE(2,));
  model_node(&m, "Min", "w,w,w", "z");
  model_node(&m, "Add", "x,z", "y");
  refused(SHAPE(2, 2,), "(Min): arithmetic between constants is not supported");
  begin(17, SHAPE(-1, 2,));
  drawn("w", SHAPE(3,));
  model_node(&m, "Min", "x,w", "y");
  refused(SHAPE(2, 2,), "(Min): axes of 2 and 3 do not broadcast");
  begin(17, SHAPE(-1, 2,));
  drawn("w", SHAPE(2,));
  model_node(&m, "Neg", "w", "v");
  model_node(&m, "Max", "x,v", "y");
  refused(SHAPE(2, 2,), "(Max): input 'v' is a negated constant, which this operator does not take");
}
END_TEST

/* --- what the lowering leaves out ------------------------------------------------------------ */

START_TEST(lowerings)
{
  begin(16, SHAPE(-1, 4, 3, 3,)); /* 1 x 1: the planes as they are */
  drawn("W", SHAPE(2, 4, 1, 1,));
  model_node(&m, "Conv", "x,W", "y");
  check(SHAPE(2, 4, 3, 3,));
  lowers_to("d");
  ck_assert_uint_eq(g.steps[0].dense.repeat, 9);
  end();
  begin(16, SHAPE(-1, 4, 3, 3,)); /* the whole plane */
  drawn("W", SHAPE(2, 4, 3, 3,));
  drawn("b", SHAPE(2,));
  model_node(&m, "Conv", "x,W,b", "y");
  check(SHAPE(2, 4, 3, 3,));
  lowers_to("d+");
  ck_assert_ptr_null(g.steps[1].in[1].map);
  end();
  begin(16, SHAPE(-1, 4, 3, 3,)); /* depthwise */
  drawn("W", SHAPE(8, 1, 2, 2,));
  drawn("b", SHAPE(8,));
  attr_int(model_node(&m, "Conv", "x,W,b", "y"), "group", 4);
  check(SHAPE(2, 4, 3, 3,));
  lowers_to("gd+");
  ck_assert(g.steps[1].dense.grouped && !g.steps[1].dense.transposed);
  ck_assert_uint_eq(g.steps[1].dense.blocks, 4);
  ck_assert_uint_eq(g.steps[1].dense.inner, 4);
  ck_assert_uint_eq(g.steps[1].dense.outer, 2);
  ck_assert_uint_eq(g.steps[1].dense.repeat, 4);
  end();
  begin(16, SHAPE(-1, 1, 3,)); /* the order of candidates is the kernel's */
  attr_ints(model_node(&m, "MaxPool", "x", "y"), "kernel_shape", SHAPE(2,));
  attr_ints(&m.nodes[0], "pads", SHAPE(1, 0,));
  check(SHAPE(2, 1, 3,));
  lowers_to("m");
  ck_assert_uint_eq(g.steps[0].in[0].map[0], CLARKE_NONE);
  for (size_t i = 0; i < 5; i++)
    ck_assert_uint_eq(g.steps[0].in[0].map[i + 1], i / 2);
  end();
  begin(16, SHAPE(-1, 1, 3,)); /* counts that differ */
  attr_ints(model_node(&m, "AveragePool", "x", "y"), "kernel_shape", SHAPE(2,));
  attr_ints(&m.nodes[0], "pads", SHAPE(1, 1,));
  check(SHAPE(2, 1, 3,));
  lowers_to("gd*");
  ck_assert_uint_eq(g.values[g.steps[2].in[1].value].count, 4);
  ck_assert_double_eq(g.values[g.steps[2].in[1].value].real[0], 1);
  ck_assert_double_eq(g.values[g.steps[2].in[1].value].real[1], 2);
  end();
}
END_TEST

/* A small residual network of everything. */
START_TEST(networks)
{
  state = 4;
  for (size_t i = 0; i < 20; i++) {
    begin(17, SHAPE(-1, 2, 6, 6,));
    drawn("W1", SHAPE(4, 2, 3, 3,));
    drawn("b1", SHAPE(4,));
    drawn("W2", SHAPE(4, 1, 3, 3,));
    drawn("W3", SHAPE(3, 40,));
    drawn("b3", SHAPE(3,));
    attr_ints(model_node(&m, "Conv", "x,W1,b1", "c1"), "pads", SHAPE(1, 1, 1, 1,));
    model_node(&m, "Relu", "c1", "r1");
    attr_ints(model_node(&m, "MaxPool", "r1", "p1"), "kernel_shape", SHAPE(2, 2,));
    attr_ints(&m.nodes[2], "strides", SHAPE(2, 2,));
    attr_ints(model_node(&m, "Conv", "p1,W2", "c2"), "pads", SHAPE(1, 1, 1, 1,));
    attr_int(&m.nodes[3], "group", 4);
    model_node(&m, "Add", "c2,p1", "s");
    model_node(&m, "Abs", "s", "r2");
    model_node(&m, "GlobalAveragePool", "r2", "q");
    model_node(&m, "Flatten", "r2", "f");
    model_node(&m, "Flatten", "q", "h");
    attr_int(model_node(&m, "Concat", "f,h", "j"), "axis", 1);
    attr_int(model_node(&m, "Gemm", "j,W3,b3", "y"), "transB", 1);
    check(SHAPE(3, 2, 6, 6,));
    lowers_to("gd+pmgd+pd*gg+d+");
    end();
  }
}
END_TEST

/* --- batch normalization --------------------------------------------------------------------- */

static void
normalized(int64_t opset, const long *input, const double *var)
{
  begin(opset, input);
  drawn("scale", SHAPE(3,));
  drawn("B", SHAPE(3,));
  drawn("mean", SHAPE(3,));
  memcpy(model_floats(&m, "var", SHAPE(3,)), var, 3 * sizeof *var);
  attr_float(model_node(&m, "BatchNormalization", "x,scale,B,mean,var", "y"), "epsilon", 0.25);
}

static const double squares[] = {2, 0.75, 0}; /* less a quarter */

START_TEST(batch_normalization)
{
  clarke_tensor new_values[4];
  char *names[] = {"mean"};

  state = 5;
  normalized(7, SHAPE(-1, 3, 2, 2,), squares);
  attr_int(&m.nodes[0], "spatial", 1);
  check(SHAPE(4, 3, 2, 2,));
  lowers_to("+**+");
  ck_assert_double_eq(g.steps[0].in[1].coef, -1);
  ck_assert(g.steps[1].root && !g.steps[1].divide && !g.steps[2].root);
  ck_assert_double_eq(mpq_get_d(g.steps[1].epsilon), 0.25);
  ck_assert_uint_eq(g.n_parameters, 4); /* in the file's order */
  for (size_t i = 0; i < 4; i++)
    ck_assert_int_eq(g.parameters[i].statistic, i >= 2);
  ck_assert_int_eq(clarke_graph_wrt(&g, NULL, 0, &error), CLARKE_OK);
  ck_assert_uint_eq(clarke_graph_wrt_count(&g), 6);
  ck_assert_int_eq(clarke_graph_wrt(&g, names, 1, &error), CLARKE_EINPUT);
  says(error.text, "'mean' is a statistic");
  /* Another checkpoint replaces statistics, too. */
  for (size_t i = 0; i < 4; i++) {
    new_values[i] = tensor_of(g.parameters[i].name, CLARKE_F64, SHAPE(3,));
    for (size_t e = 0; e < 3; e++)
      new_values[i].real[e] = m.tensors[i].real[e] = i == 3 ? squares[2 - e] : (double)(i + e);
  }
  ck_assert_int_eq(clarke_graph_replace(&g, new_values, 4, "new.pt", &error), CLARKE_OK);
  agree();
  new_values[3].real[1] = -0.25;
  ck_assert_int_eq(clarke_graph_replace(&g, new_values, 4, "new.pt", &error), CLARKE_EINPUT);
  says(error.text, "new.pt|node '/y'|'var', whose entry 1 is too small");
  for (size_t i = 0; i < 4; i++)
    clarke_tensor_clear(&new_values[i]);
  end();
  normalized(15, SHAPE(-1, 3,), squares); /* of one axis */
  attr_int(&m.nodes[0], "training_mode", 0);
  attr_float(&m.nodes[0], "momentum", 0.9);
  check(SHAPE(4, 3,));
  ck_assert_ptr_null(g.steps[0].in[1].map);
  end();
  normalized(15, SHAPE(2, 3, 5,), squares); /* no batch axis */
  check(SHAPE(4, 2, 3, 5,));
  end();
}
END_TEST

START_TEST(bad_normalizations)
{
  static const double low[] = {1, -0.25, 1};

  normalized(13, SHAPE(-1, 3, 2,), squares);
  attr_int(&m.nodes[0], "training_mode", 1);
  refused(SHAPE(4, 3, 2,), "node 0 '/y' (BatchNormalization): attribute 'training_mode' is not known here (opset 13)");
  normalized(7, SHAPE(-1, 3, 2,), squares);
  attr_int(&m.nodes[0], "spatial", 0);
  refused(SHAPE(4, 3, 2,), "spatial is 0; expected 1");
  normalized(15, SHAPE(-1, 3, 2,), low);
  refused(SHAPE(4, 3, 2,), "entry 1 of var is -0.25 and epsilon 0.25; expected a sum above zero");
  normalized(15, SHAPE(-1, 4, 2,), squares);
  refused(SHAPE(4, 4, 2,), "scale has 1 axes and 3 entries; expected one axis of 4 channels");
  normalized(15, SHAPE(-1,), squares);
  refused(SHAPE(4,), "an input of 1 axes; expected a batch and channels");
}
END_TEST

/* An initializer that is a weight, too, is two parameters of one name: the weight may be in wrt, the statistic stays. No
 * tensor of a checkpoint is both. */
START_TEST(statistics_that_are_weights)
{
  char *names[] = {"c"};

  for (int moved = 0; moved < 2; moved++) { /* by its own name, or by a copy's */
    clarke_tensor values[2];

    begin(15, SHAPE(-1, 3,));
    memcpy(model_floats(&m, "c", SHAPE(3,)), squares, sizeof squares);
    drawn("s", SHAPE(3,));
    model_node(&m, "Identity", "c", "d");
    attr_float(model_node(&m, "BatchNormalization", moved ? "x,s,c,d,d" : "x,s,c,c,c", "y"), "epsilon", 0.25);
    check(SHAPE(4, 3,));
    ck_assert_uint_eq(g.n_parameters, 3);
    ck_assert_str_eq(g.parameters[0].name, "c");
    ck_assert_str_eq(g.parameters[1].name, "c");
    ck_assert(g.parameters[0].statistic != g.parameters[1].statistic && !g.parameters[2].statistic);
    ck_assert_int_eq(clarke_graph_wrt(&g, names, 1, &error), CLARKE_OK);
    ck_assert_uint_eq(clarke_graph_wrt_count(&g), 3);
    for (size_t i = 0; i < g.n_steps; i++)
      for (size_t k = 0; k < g.steps[i].n_in; k++) {
        const clarke_value *v = &g.values[g.steps[i].in[k].value];

        if (v->constant && v->count == 3 && (g.steps[i].root || (g.steps[i].kind == CLARKE_SUM && g.steps[i].in[k].coef < 0)))
          ck_assert(g.parameters[v->parameter].statistic);
      }
    values[0] = tensor_of("c", CLARKE_F64, SHAPE(3,));
    values[1] = tensor_of("s", CLARKE_F64, SHAPE(3,));
    ck_assert_int_eq(clarke_graph_replace(&g, values, 2, "new.pt", &error), CLARKE_EINPUT);
    says(error.text, "a weight and a statistic of BatchNormalization, which one tensor cannot replace|'c'");
    clarke_tensor_clear(&values[0]);
    clarke_tensor_clear(&values[1]);
    end();
  }
}
END_TEST

/* --- normalizations by what is given ---------------------------------------------------------- */

/* Is the first step a NORMALIZE with these groups? Then the values are another file's to test. */
static void
groups_are(const long *batch, const char *kinds, size_t blocks, size_t groups, size_t length,
           bool couples)
{
  const clarke_grouping *o;

  ck_assert_msg(build(batch) == CLARKE_OK, "%s", error.text);
  lowers_to(kinds);
  o = &g.steps[0].grouping;
  ck_assert_uint_eq(o->blocks, blocks);
  ck_assert_uint_eq(o->groups, groups);
  ck_assert_uint_eq(o->length, length);
  ck_assert_int_eq(o->couples, couples);
  ck_assert_int_eq(clarke_graph_couples(&g), couples);
  ck_assert_uint_eq(clarke_step_group_size(&g.steps[0], 5), blocks * length * (couples ? 5 : 1));
  end();
}

static clarke_model_node *
layer_norm(const long *input, const long *scale, bool bias)
{
  begin(17, input);
  drawn("scale", scale);
  drawn("b", scale);
  return model_node(&m, "LayerNormalization", bias ? "x,scale,b" : "x,scale", "y");
}

START_TEST(layer_normalizations)
{
  layer_norm(SHAPE(-1, 2, 3,), SHAPE(3,), true);
  groups_are(SHAPE(5, 2, 3,), "n*+", 1, 2, 3, false);
  attr_int(layer_norm(SHAPE(-1, 2, 3,), SHAPE(2, 3,), false), "axis", 1);
  groups_are(SHAPE(5, 2, 3,), "n*", 1, 1, 6, false);
  attr_int(layer_norm(SHAPE(4, 2, 3,), SHAPE(1,), true), "axis", -3); /* no batch axis */
  groups_are(SHAPE(5, 4, 2, 3,), "n*+", 1, 1, 24, false);
  attr_int(layer_norm(SHAPE(-1, 2, 3,), SHAPE(2, 1,), true), "stash_type", 1);
  groups_are(SHAPE(5, 2, 3,), "n*+", 1, 2, 3, false);

  attr_int(layer_norm(SHAPE(-1, 2, 3,), SHAPE(3,), true), "axis", 0);
  refused(SHAPE(5, 2, 3,), "node 0 '/y' (LayerNormalization): axis 0 is the batch");
  attr_int(layer_norm(SHAPE(-1, 2, 3,), SHAPE(3,), true), "axis", 3);
  refused(SHAPE(5, 2, 3,), "axis 3 is out of range for 3 axes");
  layer_norm(SHAPE(-1, 2, 3,), SHAPE(2,), true);
  refused(SHAPE(5, 2, 3,), "Scale, of 2 entries on 1 axes, does not broadcast to a sample");
  layer_norm(SHAPE(-1, 2, 3,), SHAPE(5, 2, 3,), true);
  refused(SHAPE(5, 2, 3,), "Scale, of 30 entries on 3 axes, does not broadcast to a sample");
  layer_norm(SHAPE(-1, 2, 3,), SHAPE(1, 1, 1, 3,), true);
  refused(SHAPE(5, 2, 3,), "Scale, of 3 entries on 4 axes, does not broadcast");
  layer_norm(SHAPE(-1, 2, 3,), SHAPE(3,), true);
  drawn("c", SHAPE(2, 2,));
  free(m.nodes[0].in[2]);
  m.nodes[0].in[2] = strdup("c");
  refused(SHAPE(5, 2, 3,), "B, of 4 entries on 2 axes, does not broadcast");
  for (size_t i = 0; i < 4; i++) {
    static const double bad[] = {0, -0.5, NAN, INFINITY};

    attr_float(layer_norm(SHAPE(-1, 2, 3,), SHAPE(3,), true), "epsilon", bad[i]);
    refused(SHAPE(5, 2, 3,), "(LayerNormalization): epsilon is |; expected a number above zero");
  }
  layer_norm(SHAPE(-1, 2, 0,), SHAPE(1,), true);
  ck_assert_int_eq(build(SHAPE(5, 2, 0,)), CLARKE_EINPUT); /* before any node */
  says(error.text, "x: |one or more entries each");
  end();
}
END_TEST

static clarke_model_node *
by_channel(const char *op, int64_t opset, const long *input, long scales)
{
  begin(opset, input);
  drawn("scale", SHAPE(scales,));
  drawn("b", SHAPE(scales,));
  return model_node(&m, op, "x,scale,b", "y");
}

START_TEST(instance_and_group_normalizations)
{
  by_channel("InstanceNormalization", 7, SHAPE(-1, 4, 2, 3,), 4);
  groups_are(SHAPE(5, 4, 2, 3,), "n*+", 1, 4, 6, false);
  by_channel("InstanceNormalization", 22, SHAPE(2, 4, 3,), 4);
  groups_are(SHAPE(5, 2, 4, 3,), "n*+", 1, 8, 3, false);
  attr_int(by_channel("GroupNormalization", 18, SHAPE(-1, 4, 3,), 2), "num_groups", 2);
  groups_are(SHAPE(5, 4, 3,), "n*+", 1, 2, 6, false);
  attr_int(by_channel("GroupNormalization", 21, SHAPE(2, 4, 3,), 4), "num_groups", 2);
  groups_are(SHAPE(5, 2, 4, 3,), "n*+", 1, 4, 6, false);

  by_channel("InstanceNormalization", 7, SHAPE(-1, 4,), 4);
  refused(SHAPE(5, 4,), "an input of 2 axes; expected a batch, channels and one axis or more");
  by_channel("InstanceNormalization", 7, SHAPE(-1, 4, 3,), 3);
  refused(SHAPE(5, 4, 3,), "scale has 1 axes and 3 entries; expected one axis of 4 channels");
  attr_int(by_channel("GroupNormalization", 18, SHAPE(-1, 4, 3,), 4), "num_groups", 2);
  refused(SHAPE(5, 4, 3,), "scale has 1 axes and 4 entries; expected one axis of 2 groups");
  attr_int(by_channel("GroupNormalization", 21, SHAPE(-1, 4, 3,), 2), "num_groups", 2);
  refused(SHAPE(5, 4, 3,), "scale has 1 axes and 2 entries; expected one axis of 4 channels");
  attr_int(by_channel("GroupNormalization", 21, SHAPE(-1, 4, 3,), 4), "num_groups", 3);
  refused(SHAPE(5, 4, 3,), "num_groups is 3; expected a divisor of the 4 channels");
  by_channel("GroupNormalization", 21, SHAPE(-1, 4, 3,), 4);
  refused(SHAPE(5, 4, 3,), "num_groups is 0; expected a divisor of the 4 channels");
}
END_TEST

static clarke_model_node *
trained(int64_t opset, const long *input)
{
  normalized(opset, input, squares);
  attr_int(&m.nodes[0], "training_mode", 1);
  return &m.nodes[0];
}

/* The node once more, with these outputs. */
static void
name_outputs(const char *names)
{
  for (size_t i = 0; i < m.nodes[0].n_out; i++)
    free(m.nodes[0].out[i]);
  free(m.nodes[0].out);
  m.nodes[0].out = words_of(names, &m.nodes[0].n_out);
}

START_TEST(batch_normalization_in_training)
{
  trained(14, SHAPE(-1, 3, 2,));
  groups_are(SHAPE(4, 3, 2,), "n*+", 1, 3, 2, true);
  trained(15, SHAPE(2, 3, 2,)); /* no batch axis: all of it is in the sample */
  groups_are(SHAPE(4, 2, 3, 2,), "n*+", 2, 3, 2, false);
  trained(15, SHAPE(-1, 3,));
  name_outputs("y,new_mean,new_var");
  groups_are(SHAPE(4, 3,), "n*+", 1, 3, 1, true);

  trained(15, SHAPE(-1, 3,));
  name_outputs("y,new_mean,new_var");
  model_node(&m, "Add", "y,new_mean", "z");
  refused(SHAPE(4, 3,), "'/y' (BatchNormalization): the running statistics are of all samples, which are mixed");
  trained(15, SHAPE(1, 3,));
  refused(SHAPE(4, 3,), "the statistics of the minibatch, where the input declares a batch of one");
  trained(15, SHAPE(-1, 3,));
  name_outputs("y,mean,");
  refused(SHAPE(4, 3,), "'/y' (BatchNormalization): the running statistics are of all samples");
  trained(15, SHAPE(-1, 3,));
  name_outputs("y,new_mean,new_var");
  model_output(&m, "new_var");
  refused(SHAPE(4, 3,), "'/y' (BatchNormalization): the running statistics are of all samples|--batch-axis none");
  normalized(15, SHAPE(-1, 3,), squares);
  name_outputs("y,new_mean");
  refused(SHAPE(4, 3,), "2 outputs; expected 1 or 3");
  normalized(15, SHAPE(-1, 3,), squares);
  name_outputs("y,new_mean,new_var");
  refused(SHAPE(4, 3,), "only the first output is supported");
  normalized(9, SHAPE(-1, 3,), squares);
  name_outputs("y,new_mean,new_var,a_mean,a_var");
  refused(SHAPE(4, 3,), "only the first output is supported; others mean training, which is read from");
  trained(15, SHAPE(-1, 3,));
  name_outputs("y,new_mean,new_var,more");
  refused(SHAPE(4, 3,), "4 outputs; in this operator set it has 3 at most");
  trained(15, SHAPE(-1, 4,));
  refused(SHAPE(4, 4,), "scale has 1 axes and 3 entries; expected one axis of 4 channels");
}
END_TEST

/* --- Concat, Pad ----------------------------------------------------------------------------- */

START_TEST(concatenations)
{
  state = 6;
  for (size_t i = 0; i < 600; i++) {
    size_t rank = 2 + draw_below(&state, 3), axis = 1 + draw_below(&state, rank - 1);
    size_t n = 1 + draw_below(&state, 4);
    long input[6] = {-1}, shape[6];
    char parts[64] = "";
    clarke_model_node *node;

    for (size_t a = 1; a < rank; a++)
      input[a] = draw_between(&state, 1, 3);
    input[rank] = SHAPE_END;
    begin(13, input);
    model_node(&m, "Abs", "x", "z");
    memcpy(shape, input, sizeof shape);
    shape[0] = 1;
    shape[axis] = draw_between(&state, 1, 3);
    drawn("c", shape);
    for (size_t k = 0; k < n; k++) {
      strcat(parts, k > 0 ? "," : "");
      strcat(parts, k == 0 ? "x" : draw_below(&state, 3) == 0 ? "c" : draw_below(&state, 2) ? "z" : "x");
    }
    if (strchr(parts, 'c') != NULL)
      m.inputs[0].dims[0] = 1; /* each sample a run of its own, of one entry as c has */
    node = model_node(&m, "Concat", parts, "y");
    attr_int(node, "axis", draw_below(&state, 2) ? (int64_t)axis : (int64_t)axis - (int64_t)rank);
    input[0] = 2;
    check(input);
    ck_assert_uint_eq(g.n_parameters, strchr(parts, 'c') != NULL);
    end();
  }
}
END_TEST

static void
concatenated(const char *parts, int64_t axis)
{
  begin(13, SHAPE(1, 2, 3,));
  drawn("c", SHAPE(1, 2, 3,));
  drawn("d", SHAPE(1, 3, 3,));
  drawn("e", SHAPE(2, 3,));
  drawn("f", SHAPE(1, 2, 0,));
  attr_int(model_node(&m, "Concat", parts, "y"), "axis", axis);
}

START_TEST(bad_concatenations)
{
  concatenated("x,x", 0);
  refused(SHAPE(5, 2, 3,), "node 0 '/y' (Concat): axis 0 is the batch");
  concatenated("x,x", -3);
  refused(SHAPE(5, 2, 3,), "axis -3 is the batch");
  concatenated("x,x", 3);
  refused(SHAPE(5, 2, 3,), "axis 3 is out of range for 3 axes");
  concatenated("c,c", 1);
  refused(SHAPE(5, 2, 3,), "computed of constants alone, and the same for all samples");
  concatenated("c,", 1);
  refused(SHAPE(5, 2, 3,), "an input is missing");
  concatenated("x,d", 2);
  refused(SHAPE(5, 2, 3,), "input 1 has 3 entries along axis 1; expected 2");
  concatenated("x,e", 2);
  refused(SHAPE(5, 2, 3,), "input 1 has 2 axes; expected 3");
  concatenated("x,c", 2);
  m.inputs[0].dims[0] = -1;
  refused(SHAPE(5, 2, 3,), "input 1 is a constant, which has not the axis of all samples");
  concatenated("x,f", 2);
  refused(SHAPE(5, 2, 3,), "input 1 has no entries");
  concatenated("x,,x", 2);
  refused(SHAPE(5, 2, 3,), "input 1 is missing");
  concatenated("x,x", 1);
  m.nodes[0].attr[0].name[0] = 'e';
  refused(SHAPE(5, 2, 3,), "attribute 'exis' is not known here");
  concatenated("", 1);
  refused(SHAPE(5, 2, 3,), "0 inputs and 1 outputs; expected 1 to 1024");
}
END_TEST

START_TEST(paddings)
{
  state = 7;
  for (size_t i = 0; i < 600; i++) {
    size_t rank = 2 + draw_below(&state, 3);
    int64_t opset = (int64_t)draw_between(&state, 7, 20);
    bool axes = opset >= 18 && draw_below(&state, 2);
    long input[6] = {-1}, pads[12], list[6];
    clarke_model_node *node;
    size_t n = axes ? rank - 1 : rank;

    for (size_t a = 1; a < rank; a++)
      input[a] = draw_between(&state, 3, 4);
    input[rank] = pads[2 * n] = list[n] = SHAPE_END;
    for (size_t a = 0; a < n; a++) {
      bool batch = !axes && a == 0;

      pads[a] = batch ? 0 : draw_between(&state, -1, 2);
      pads[a + n] = batch ? 0 : draw_between(&state, -1, 2);
      list[a] = draw_below(&state, 2) ? (long)a + 1 : (long)a + 1 - (long)rank;
    }
    begin(opset, input);
    integers("p", pads);
    integers("a", list);
    model_floats(&m, "zero", SHAPE());
    node = model_node(&m, "Pad", opset < 11 ? "x" : axes ? "x,p,zero,a" : "x,p,zero", "y");
    if (opset < 11)
      attr_ints(node, "pads", pads);
    if (draw_below(&state, 2))
      attr_string(node, "mode", "constant");
    input[0] = 2;
    check(input);
    lowers_to("g");
    ck_assert_uint_eq(g.n_parameters, 0);
    end();
  }
}
END_TEST

static void
padded(const char *in, const long *pads)
{
  begin(18, SHAPE(-1, 2, 3,));
  integers("p", pads);
  integers("a", SHAPE(1, 1,));
  model_floats(&m, "far", SHAPE())[0] = INFINITY;
  model_node(&m, "Pad", in, "y");
}

START_TEST(bad_paddings)
{
  padded("x,p", SHAPE(1, 0, 0, 0, 0, 0,));
  refused(SHAPE(5, 2, 3,), "node 0 '/y' (Pad): pads of the batch axis are 1 and 0; expected 0");
  padded("x,p", SHAPE(0, 0, 0, 0,));
  refused(SHAPE(5, 2, 3,), "4 pads; expected 6: two for each of 3 axes");
  padded("x,p,far", SHAPE(0, 0, 1, 0, 0, 1,));
  refused(SHAPE(5, 2, 3,), "the value is inf; expected a number, or minus infinity");
  padded("x,p,,a", SHAPE(0, 0, 1, 0,));
  refused(SHAPE(5, 2, 3,), "axis 1 is out of range or given twice");
  padded("x,p", SHAPE(0, 0, -2, 0, 0, -1,));
  refused(SHAPE(5, 2, 3,), "axis 2 has 3 entries and pads -2 and -1: the output would have no entries");
  padded("x,p", SHAPE(0, 0, 1L << 40, 0, 0, 0,));
  refused(SHAPE(5, 2, 3,), "pads of axis 2 are 1099511627776 and 0; expected at most 2147483648");
  padded("x,p", SHAPE(0, 0, 1L << 27, 0, 0, 0,));
  refused(SHAPE(1, 2, 3,), "the limit is 16777216 (--limit entries=N raises it)");
  padded("x,p", SHAPE(0, 1L << 31, 1L << 31, 0, 0, 0,));
  refused(SHAPE(5, 2, 3,), "the limit is 16777216 (--limit entries=N raises it)");
  padded("x", SHAPE(0,));
  refused(SHAPE(5, 2, 3,), "(Pad): 1 inputs and 1 outputs; expected 2 to 4");
  padded("p,p", SHAPE(0, 0,));
  refused(SHAPE(5, 2, 3,), "input 0 must hold floats");
  for (size_t i = 0; i < 3; i++) {
    static const char *const modes[] = {"symmetric", "wrap", ""};

    padded("x,p", SHAPE(0, 0, 1, 0, 0, 0,));
    attr_string(&m.nodes[0], "mode", modes[i]);
    refused(SHAPE(5, 2, 3,), "mode is '|'; expected constant, edge or reflect");
  }
  for (size_t i = 0; i < 3; i++) {
    static const char *const modes[] = {"edge", "reflect", "wrap"};
    static const char *const why[] = {"none below 0 but in mode constant", "its 3 entries reach for 2, once through",
                                      "its 3 entries reach for 3, once through"};

    padded("x,p", i == 0 ? SHAPE(0, 0, -1, 0, 0, 4,) : SHAPE(0, 0, 1, 0, 0, 4,));
    attr_string(&m.nodes[0], "mode", modes[i]);
    m.opset = 19;
    refused(SHAPE(5, 2, 3,), why[i]);
  }
}
END_TEST

/* --- refusals of windows --------------------------------------------------------------------- */

/* A Conv of two groups of one channel, 2 x 2. */
static clarke_model_node *
conv(const char *in)
{
  begin(16, SHAPE(-1, 2, 4, 4,));
  drawn("W", SHAPE(4, 1, 2, 2,));
  drawn("b", SHAPE(3,));
  drawn("flat", SHAPE(4, 2,));
  drawn("none", SHAPE(0, 2, 2, 2,));
  attr_int(model_node(&m, "Conv", in, "y"), "group", 2);
  return &m.nodes[0];
}

static clarke_model_node *
pool(const char *op, const long *kernel)
{
  begin(19, SHAPE(-1, 2, 4, 4,));
  attr_ints(model_node(&m, op, "x", "y"), "kernel_shape", kernel);
  return &m.nodes[0];
}

#define BATCH SHAPE(3, 2, 4, 4,)

START_TEST(bad_convolutions)
{
  static const char *const lists[] = {"strides", "dilations", "kernel_shape"};

  for (size_t i = 0; i < 3; i++) {
    char said[128];

    attr_ints(conv("x,W"), lists[i], SHAPE(2,));
    snprintf(said, sizeof said, "node 0 '/y' (Conv): %s has 1 entries; expected 2", lists[i]);
    refused(BATCH, said);
    attr_ints(conv("x,W"), lists[i], SHAPE(2, 0,));
    snprintf(said, sizeof said, "%s holds 0; expected 1 to 2147483648", lists[i]);
    refused(BATCH, said);
    attr_ints(conv("x,W"), lists[i], SHAPE(1L << 62, 1,));
    snprintf(said, sizeof said, "%s holds 4611686018427387904; expected 1 to", lists[i]);
    refused(BATCH, said);
  }
  attr_ints(conv("x,W"), "pads", SHAPE(1, 1,));
  refused(BATCH, "pads has 2 entries; expected 4");
  attr_ints(conv("x,W"), "pads", SHAPE(1, 1, 1, -1,));
  refused(BATCH, "pads holds -1; expected 0 to");
  attr_ints(conv("x,W"), "kernel_shape", SHAPE(2, 3,));
  refused(BATCH, "kernel_shape holds 3 where the weight has 2 entries");
  attr_ints(conv("x,W"), "dilations", SHAPE(1, 4,));
  refused(BATCH, "reaches over 5 entries does not fit into the 4 of axis 3|no entries");
  attr_ints(conv("x,W"), "pads", SHAPE(1L << 31, 1L << 31, 1L << 31, 1L << 31,));
  refused(BATCH, "a kernel or an output of over 2147483648 entries");
  attr_ints(conv("x,W"), "pads", SHAPE(1 << 14, 1 << 14, 1 << 14, 1 << 14,));
  refused(BATCH, "the limit is 16777216 (--limit entries=N raises it)");
  attr_ints(conv("x,W"), "pads", SHAPE(1 << 12, 1 << 9, 1 << 12, 1 << 9,));
  refused(BATCH, "the limit is 16777216 (--limit entries=N raises it)");
  attr_string(conv("x,W"), "auto_pad", "SAME");
  refused(BATCH, "auto_pad is 'SAME'; expected NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  attr_string(conv("x,W"), "auto_pad", "SAME_UPPER");
  attr_ints(&m.nodes[0], "pads", SHAPE(1, 1, 1, 1,));
  refused(BATCH, "pads with auto_pad SAME_UPPER; expected one of them");
  attr_string(conv("x,W"), "auto_pad", "SAME_LOWER"); /* 1 place of 2 entries in 4: 2 less than nothing */
  attr_ints(&m.nodes[0], "strides", SHAPE(4, 1,));
  refused(BATCH, "by ONNX's formula auto_pad SAME_LOWER pads axis 2 by 2 entries less than nothing");
  conv("x,W")->attr[0].i = 3;
  refused(BATCH, "group is 3; expected a divisor of 2 channels and of 4 outputs");
  conv("x,W")->attr[0].i = -1;
  refused(BATCH, "group is -1");
  conv("x,W")->attr[0].i = 1;
  refused(BATCH, "the weight takes 1 channels; expected 2 in each of 1 groups");
  conv("x,W,b");
  refused(BATCH, "a bias of 1 axes and 3 entries; expected one axis of 4");
  conv("x,flat");
  refused(BATCH, "a weight of 2 axes and 8 entries; expected 4 axes: output channels, input");
  conv("x,none");
  refused(BATCH, "a weight of 4 axes and 0 entries");
  conv("x,x");
  refused(BATCH, "input 1 must be a constant");
  conv("W,W");
  refused(BATCH, "group is 2; expected a divisor of 1 channels and of 4 outputs");
  begin(16, SHAPE(-1, 2, 2, 2, 2, 2, 2,));
  drawn("W", SHAPE(4, 2, 1, 1, 1, 1, 1,));
  model_node(&m, "Conv", "x,W", "y");
  refused(SHAPE(3, 2, 2, 2, 2, 2, 2,), "an input of 7 axes; expected (batch, channels) and one to 4 spatial axes");
}
END_TEST

START_TEST(bad_poolings)
{
  static const char *const ops[] = {"MaxPool", "AveragePool"};

  for (size_t i = 0; i < 2; i++) {
    begin(16, SHAPE(-1, 2, 4, 4,));
    model_node(&m, ops[i], "x", "y");
    refused(BATCH, "kernel_shape is missing");
    attr_ints(pool(ops[i], SHAPE(1, 1,)), "pads", SHAPE(0, 1, 0, 0,));
    refused(BATCH, "window 0 lies in the padding; expected an entry in each");
    attr_int(pool(ops[i], SHAPE(2, 2,)), "ceil_mode", 1);
    attr_string(&m.nodes[0], "auto_pad", "VALID");
    refused(BATCH, "ceil_mode with auto_pad VALID; expected pads");
    attr_string(pool(ops[i], SHAPE(2, 1,)), "auto_pad", "SAME_UPPER");
    attr_ints(&m.nodes[0], "strides", SHAPE(2, 2,));
    refused(BATCH, "auto_pad SAME_UPPER pads axis 3 by 1 entries less than nothing");
    attr_string(pool(ops[i], SHAPE(2, 2,)), "auto_pad", "SAME_LOWER");
    attr_ints(&m.nodes[0], "dilations", SHAPE(1, 2,));
    refused(BATCH, "auto_pad SAME_LOWER with dilations, of which ONNX's readers make outputs of different shapes");
    attr_ints(pool(ops[i], SHAPE(1L << 31, 1L << 31,)), "pads",
              SHAPE(1L << 31, 1L << 31, 1L << 31, 1L << 31,));
    refused(BATCH, "a kernel or an output of over 2147483648 entries");
    attr_ints(pool(ops[i], SHAPE(1L << 31, 1,)), "dilations", SHAPE(1L << 31, 1,));
    refused(BATCH, "does not fit");
  }
  attr_int(pool("MaxPool", SHAPE(2, 2,)), "storage_order", 2);
  refused(BATCH, "node 0 '/y' (MaxPool): attribute 'storage_order' is 2, of which readers of ONNX differ; expected 0 or 1");
  attr_ints(pool("MaxPool", SHAPE(4097, 1,)), "pads", SHAPE(4096, 0, 0, 0,));
  refused(BATCH, "a window of 4097 entries; at most 4096 are supported");
  for (int read = 0; read < 2; read++) { /* indices may have a name, and nothing reads them */
    pool("MaxPool", SHAPE(2, 2,));
    m.nodes[0].out = realloc(m.nodes[0].out, 16 * sizeof *m.nodes[0].out);
    m.nodes[0].out[m.nodes[0].n_out++] = strdup("indices");
    if (read) {
      model_node(&m, "Relu", "indices", "z");
      refused(BATCH, "input 'indices' is output 1 of node 0 '/y' (MaxPool), which is not made: only its first output is");
    } else {
      ck_assert_msg(build(BATCH) == CLARKE_OK, "%s", error.text);
      end();
    }
  }
}
END_TEST

START_TEST(bad_means)
{
  begin(13, SHAPE(-1, 2, 3,));
  attr_ints(model_node(&m, "ReduceMean", "x", "y"), "axes", SHAPE(0, 1,));
  refused(SHAPE(5, 2, 3,), "node 0 '/y' (ReduceMean): a mean over the batch axis; expected axes of a");
  begin(13, SHAPE(-1, 2, 3,));
  attr_ints(model_node(&m, "ReduceMean", "x", "y"), "axes", SHAPE(1, -2,));
  refused(SHAPE(5, 2, 3,), "axis -2 is out of range or given twice");
  begin(18, SHAPE(-1, 2, 3,));
  drawn("a", SHAPE(1,));
  model_node(&m, "ReduceMean", "x,a", "y");
  refused(SHAPE(5, 2, 3,), "input 1 must be a constant of integers");
}
END_TEST

/* Activations and constants, of more axes than they had, whatever the batch. */
START_TEST(repetitions)
{
  state = 8;
  for (size_t i = 0; i < 200; i++) {
    const size_t rank = 1 + draw_below(&state, 3), more = draw_below(&state, 3);
    const bool tile = draw_below(&state, 2), batched = draw_below(&state, 2), swap = !batched && draw_below(&state, 2);
    long input[8] = {batched ? -1 : 1}, batch[8] = {2, 1}, list[8], *shape = list;

    for (size_t a = 1; a <= rank; a++)
      batch[a + !batched] = input[a] = draw_between(&state, 1, 3);
    input[rank + 1] = batch[rank + 1 + !batched] = SHAPE_END;
    for (size_t a = 0; a < more && !tile && !batched; a++)
      *shape++ = draw_between(&state, 1, 3);
    for (size_t a = 0; a <= rank; a++)
      *shape++ = (batched && a == 0) || draw_below(&state, 3) == 0 ? 1
                 : tile || input[a] == 1                          ? draw_between(&state, 1, 3)
                                                                  : input[a];
    *shape = SHAPE_END;
    begin(13, input);
    integers("s", list);
    if (swap) { /* of a constant, which is then added */
      drawn("c", input);
      model_node(&m, tile ? "Tile" : "Expand", "c,s", "k");
      model_node(&m, tile ? "Tile" : "Expand", "x,s", "z");
      model_node(&m, "Add", "z,k", "y");
    } else
      model_node(&m, tile ? "Tile" : "Expand", "x,s", "y");
    check(batch);
    lowers_to(swap ? "g+" : "g");
    end();
  }
}
END_TEST

/* A constant expanded to all samples is one sample's, and its parameter has the gradient of all. */
START_TEST(class_tokens)
{
  for (size_t i = 0; i < 2; i++) {
    begin(13, SHAPE(-1, 3, 2,));
    drawn("t", SHAPE(1, 2,));
    integers("s", i == 1 ? SHAPE(5, 1, 2,) : SHAPE(4, 1, 2,));
    model_node(&m, "Expand", "t,s", "e");
    attr_int(model_node(&m, "Concat", "e,x", "y"), "axis", 1);
    if (i > 0) {
      refused(SHAPE(4, 3, 2,), "(Concat): input 0 is a constant, which has not the axis of all samples");
      continue;
    }
    ck_assert_msg(build(SHAPE(4, 3, 2,)) == CLARKE_OK, "%s", error.text);
    lowers_to("+");
    ck_assert_uint_eq(g.n_parameters, 1);
    ck_assert_uint_eq(g.values[g.steps[0].in[0].value].count, 2);
    ck_assert_uint_eq(g.values[g.output].dims[0], 4);
    end();
  }
}
END_TEST

START_TEST(bad_repetitions)
{
  static const struct {
    const char *op;
    long list[4];
    const char *says;
  } bad[] = {
    {"Expand", {2, 3, 2, SHAPE_END}, "(Expand): axis 0 has 5 entries, and the shape has 2"},
    {"Expand", {5, 2, 2, SHAPE_END}, "axis 1 has 3 entries, and the shape has 2"},
    {"Expand", {5, 3, -1, SHAPE_END}, "axis 2 has 2 entries, and the shape has -1"},
    {"Tile", {2, 1, 1, SHAPE_END}, "(Tile): axis 0 is the batch, or merged with it: it cannot be repeated"},
    {"Tile", {1, 1, SHAPE_END}, "2 repeats for 3 axes"},
    {"Tile", {1, -1, 1, SHAPE_END}, "axis 1 is repeated -1 times"},
    {"Tile", {1, 1 << 30, 1, SHAPE_END}, "would have more entries than allowed"},
  };

  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    begin(13, SHAPE(-1, 3, 2,));
    integers("s", bad[i].list);
    model_node(&m, bad[i].op, "x,s", "y");
    refused(SHAPE(5, 3, 2,), bad[i].says);
  }
}
END_TEST

/* Places along several axes, or of single entries; backwards; of samples merged with an axis: what is read is what NumPy reads. */
START_TEST(places)
{
  static const size_t rows[] = {5, 4, 0, 1}; /* of (3, 2), by (2, 1), (2, 0), (0, 0), (0, -1) */
  static const long list[] = {2, 1, 2, 0, 0, 0, 0, -1};
  int64_t *along;

  begin(15, SHAPE(-1, 3, 2,));
  attr_ints(model_node(&m, "Transpose", "x", "t"), "perm", SHAPE(1, 2, 0,));
  along = model_integers(&m, "p", SHAPE(2, 2, 2,));
  for (size_t i = 0; i < 8; i++)
    along[i] = list[i];
  model_node(&m, "GatherND", "t,p", "z"); /* (2, 2, samples) */
  attr_ints(model_node(&m, "Transpose", "z", "y"), "perm", SHAPE(2, 0, 1,));
  ck_assert_msg(build(SHAPE(5, 3, 2,)) == CLARKE_OK, "%s", error.text);
  lowers_to("ggg");
  for (size_t i = 0; i < 4; i++)
    ck_assert_uint_eq(clarke_operand_entry(&g.steps[1].in[0], i), rows[i]);
  end();
  begin(15, SHAPE(-1, 4,)); /* 3, 1 */
  integers("from", SHAPE(-1,));
  integers("to", SHAPE(-9,));
  integers("axis", SHAPE(1,));
  integers("by", SHAPE(-2,));
  model_node(&m, "Slice", "x,from,to,axis,by", "y");
  ck_assert_msg(build(SHAPE(2, 4,)) == CLARKE_OK, "%s", error.text);
  ck_assert(g.values[g.output].count == 2 && g.steps[0].in[0].map[0] == 3 && g.steps[0].in[0].map[1] == 1);
  end();
}
END_TEST

/* (samples 2, 3) as one axis, and its entries 2, 0 of each sample: places 2, 0 and 5, 3. Those of another sample are refused. */
START_TEST(places_of_samples)
{
  static const int64_t own[2][4] = {{2, 0, 5, 3}, {2, 0, 5, 2}};

  for (size_t k = 0; k < 2; k++) {
    begin(15, SHAPE(2, 3,));
    integers("one", SHAPE(-1,));
    model_node(&m, "Reshape", "x,one", "t");
    memcpy(model_integers(&m, "p", SHAPE(2, 2,)), own[k], sizeof own[k]);
    model_node(&m, "Gather", "t,p", "y");
    if (k == 1) {
      refused(SHAPE(2, 3,), "axis 0 is merged with the batch, and the places mix samples");
      continue;
    }
    ck_assert_msg(build(SHAPE(2, 3,)) == CLARKE_OK, "%s", error.text);
    ck_assert(g.values[g.output].count == 2 && g.steps[1].in[0].map[0] == 2 && g.steps[1].in[0].map[1] == 0);
    end();
  }
}
END_TEST

/* By a mask an entry is the one's or the other's; a constant among them is a parameter. */
START_TEST(masks)
{
  static const int64_t mask[] = {1, 0, 1};
  clarke_step *s;

  begin(16, SHAPE(-1, 3,));
  drawn("w", SHAPE(1,));
  memcpy(model_integers(&m, "l", SHAPE(3,)), mask, sizeof mask);
  integers("one", SHAPE(1,));
  model_node(&m, "Equal", "l,one", "q");
  model_node(&m, "Where", "q,x,w", "y");
  ck_assert_msg(build(SHAPE(4, 3,)) == CLARKE_OK, "%s", error.text);
  lowers_to("+");
  s = &g.steps[0];
  ck_assert(s->in[0].map[0] == 0 && s->in[0].map[1] == CLARKE_NONE && s->in[0].map[2] == 2);
  ck_assert(s->in[1].map[0] == CLARKE_NONE && s->in[1].map[1] == 0 && s->in[1].map[2] == CLARKE_NONE);
  ck_assert_uint_eq(g.n_parameters, 1);
  end();
}
END_TEST

/* A shape's entry of the batch axis is the samples of a run: all, or one where each is a run of its own. */
START_TEST(computed_shapes)
{
  for (long first = -1; first < 2; first += 2) {
    begin(15, SHAPE(first, 3, 2,));
    model_node(&m, "Shape", "x", "s");
    integers("i", SHAPE(0,));
    model_node(&m, "Gather", "s,i", "n");
    integers("l", SHAPE(-1,));
    attr_int(model_node(&m, "Concat", "n,l", "r"), "axis", 0);
    integers("five", SHAPE(5,));
    model_node(&m, "Sub", "n,five", "zero"); /* 0, or -4 */
    model_node(&m, "Reshape", "x,r", "y");
    ck_assert_msg(build(SHAPE(5, 3, 2,)) == CLARKE_OK, "%s", error.text);
    lowers_to("g");
    ck_assert_uint_eq(g.values[g.output].count, 6);
    ck_assert_uint_eq(g.n_parameters, 0);
    for (size_t v = 0; v < g.n_values; v++)
      if (strcmp(g.values[v].name, "zero") == 0)
        ck_assert_int_eq(g.values[v].integer[0], first == 1 ? -4 : 0);
    end();
  }
}
END_TEST

/* What the node gives when its inputs are these constants, of integers; "a" to "c" are theirs. */
static void
computes(const char *op, const char *in, const int64_t *a, size_t n, long b, long c, const int64_t *want, size_t count)
{
  begin(17, SHAPE(-1, 3, 2,));
  memcpy(model_integers(&m, "a", SHAPE((long)n,)), a, n * sizeof *a);
  memcpy(model_integers(&m, "b", SHAPE(1,)), (const int64_t[]){b}, sizeof *a);
  memcpy(model_integers(&m, "c", SHAPE(1,)), (const int64_t[]){c}, sizeof *a);
  model_node(&m, op, in, "found");
  model_node(&m, "Relu", "x", "y");
  ck_assert_msg(build(SHAPE(5, 3, 2,)) == CLARKE_OK, "%s: %s", op, error.text);
  for (size_t v = 0; v < g.n_values; v++)
    if (strcmp(g.values[v].name, "found") == 0) {
      ck_assert_uint_eq(g.values[v].count, count);
      ck_assert_mem_eq(g.values[v].integer, want, count * sizeof *want);
      end();
      return;
    }
  ck_abort_msg("%s made nothing", op);
}

START_TEST(computed_places)
{
  static const int64_t four[] = {4, -2, 3, 5};

  computes("Size", "x", four, 4, 0, 0, (const int64_t[]){30}, 1);
  computes("Size", "a", four, 4, 0, 0, (const int64_t[]){4}, 1);
  computes("ReduceProd", "a", four, 4, 0, 0, (const int64_t[]){-120}, 1);
  computes("Max", "a,b", four, 4, 3, 0, (const int64_t[]){4, 3, 3, 5}, 4);
  computes("Min", "a,b", four, 4, 3, 0, (const int64_t[]){3, -2, 3, 3}, 4);
  for (long from = -4; from < 5; from++) /* beside a loop */
    for (long to = -4; to < 5; to++)
      for (long by = -5; by < 6; by++) {
        const int64_t start = from;
        int64_t want[9];
        size_t n = 0;

        for (long i = from; by > 0 ? i < to : by < 0 && i > to; i += by)
          want[n++] = i;
        if (n > 0)
          computes("Range", "a,b,c", &start, 1, to, by, want, n);
      }
}
END_TEST

/* Two axes of (2, 3, 4) and what is between: entries as three loops have them, backwards too. */
START_TEST(slices_of_axes)
{
  static const struct {
    int64_t axes[2], from[2], to[2], by[2];
    size_t n, at[6];
  } slices[] = {
    {{1, -1}, {0, 1}, {1, 4}, {1, 2}, 6, {1, 3, 5, 7, 9, 11}},                        /* [0:1, :, 1:4:2] */
    {{-1, 1}, {-1, -1}, {-9, INT64_MIN}, {-3, -2}, 6, {15, 12, 19, 16, 23, 20}}, /* [-1::-2, :, -1::-3] */
  };

  for (size_t k = 0; k < 2; k++) {
    begin(15, SHAPE(-1, 2, 3, 4,));
    memcpy(model_integers(&m, "from", SHAPE(2,)), slices[k].from, sizeof slices[k].from);
    memcpy(model_integers(&m, "to", SHAPE(2,)), slices[k].to, sizeof slices[k].to);
    memcpy(model_integers(&m, "axes", SHAPE(2,)), slices[k].axes, sizeof slices[k].axes);
    memcpy(model_integers(&m, "by", SHAPE(2,)), slices[k].by, sizeof slices[k].by);
    model_node(&m, "Slice", "x,from,to,axes,by", "y");
    ck_assert_msg(build(SHAPE(2, 2, 3, 4,)) == CLARKE_OK, "%s", error.text);
    ck_assert_uint_eq(g.values[g.output].count, slices[k].n);
    for (size_t i = 0; i < slices[k].n; i++)
      ck_assert_uint_eq(clarke_operand_entry(&g.steps[0].in[0], i), slices[k].at[i]);
    end();
  }
}
END_TEST

/* An axis that the samples are merged with is (samples, 2) of x: what is taken of it must be all, whatever the numbers that say so. */
START_TEST(slices_of_samples)
{
  static const struct {
    int64_t axis, from, to, by;
    bool whole;
  } slices[] = {
    {0, 0, 1, 1, false}, {0, 0, 3, 1, false}, {-2, 0, 3, 1, false}, {0, 0, 5, 1, false}, {0, 0, -1, 1, false}, {0, 1, 6, 1, false},
    {0, 0, 6, 2, false}, {0, -1, INT64_MIN, -1, false}, {0, 0, 6, 1, true}, {-2, 0, INT64_MAX, 1, true}, {0, -6, 6, 1, true},
  };

  for (size_t k = 0; k < sizeof slices / sizeof *slices; k++)
    for (size_t form = 0; form < 4; form++) { /* axes and steps; axes; neither; attributes */
      const bool fits = form == 0 || (slices[k].by == 1 && (form != 2 || slices[k].axis == 0) && (form != 3 || slices[k].axis >= 0));

      if (!fits)
        continue;
      begin(form == 3 ? 9 : 15, SHAPE(-1, 2, 4,));
      memcpy(model_integers(&m, "merged", SHAPE(2,)), (const int64_t[]){-1, 4}, 2 * sizeof(int64_t));
      memcpy(model_integers(&m, "apart", SHAPE(3,)), (const int64_t[]){3, -1, 4}, 3 * sizeof(int64_t));
      integers("from", SHAPE(slices[k].from,));
      integers("to", SHAPE(slices[k].to,));
      integers("axis", SHAPE(slices[k].axis,));
      integers("by", SHAPE(slices[k].by,));
      model_node(&m, "Reshape", "x,merged", "t");
      model_node(&m, "Slice", form == 0 ? "t,from,to,axis,by" : form == 1 ? "t,from,to,axis" : form == 2 ? "t,from,to" : "t", "s");
      if (form == 3) {
        attr_ints(&m.nodes[1], "starts", (const long[]){(long)slices[k].from, SHAPE_END});
        attr_ints(&m.nodes[1], "ends", (const long[]){(long)slices[k].to, SHAPE_END});
        attr_ints(&m.nodes[1], "axes", (const long[]){(long)slices[k].axis, SHAPE_END});
      }
      model_node(&m, "Reshape", "s,apart", "y");
      if (slices[k].whole) {
        ck_assert_msg(build(SHAPE(3, 2, 4,)) == CLARKE_OK, "%zu, %zu: %s", k, form, error.text);
        end();
      } else {
        refused(SHAPE(3, 2, 4,), "axis 0 is the batch, or merged with it: samples would be mixed");
      }
    }
}
END_TEST

/* A constant of one sample's entries for each, the samples on its last axis: its own three entries are added to each sample's. By
 * Expand of an initializer, which is a parameter, and by an Add and a Where. */
START_TEST(constants_of_samples_behind)
{
  static const char *const ops[] = {"Add", "Where"};

  for (size_t k = 0; k < 2; k++) {
    begin(15, SHAPE(-1, 3,));
    attr_ints(model_node(&m, "Transpose", "x", "t"), "perm", SHAPE(1, 0,));
    drawn("w", SHAPE(3, 1,));
    memcpy(model_integers(&m, "shape", SHAPE(2,)), (const int64_t[]){3, 2}, 2 * sizeof(int64_t));
    model_node(&m, "Expand", "w,shape", "c");
    memcpy(model_integers(&m, "zeros", SHAPE(3, 1,)), (const int64_t[]){0, 1, 0}, 3 * sizeof(int64_t));
    attr_int(model_node(&m, "Cast", "zeros", "mask"), "to", 9);
    model_node(&m, ops[k], k == 0 ? "t,c" : "mask,c,t", "s");
    attr_ints(model_node(&m, "Transpose", "s", "y"), "perm", SHAPE(1, 0,));
    ck_assert_msg(build(SHAPE(2, 3,)) == CLARKE_OK, "%s: %s", ops[k], error.text);
    ck_assert_uint_eq(g.values[g.output].count, 3);
    for (size_t i = 0; i < g.n_steps; i++)
      for (size_t f = 0; f < 3 && g.steps[i].kind == CLARKE_SUM; f++)
        for (size_t o = 0; o < 2; o++)
          if (k == 0 || clarke_operand_entry(&g.steps[i].in[o], f) != CLARKE_NONE)
            ck_assert_uint_eq(clarke_operand_entry(&g.steps[i].in[o], f), f);
    end();
  }
}
END_TEST

START_TEST(bad_computed_shapes)
{
  static const struct {
    const char *op, *in, *says;
  } bad[] = {
    {"Mod", "s,z", "(Mod): entry 0, of 5 and 0: the result is no integer of the type, or a negative number is divided"},
    {"Div", "l,s", "(Div): entry 0, of -1 and 5: the result is no integer of the type, or a negative number is divided"},
    {"Neg", "least", "(Neg): entry 0, of -9223372036854775808 and 0: the result is no integer of the type"},
    {"Mul", "s,h", "(Mul): entry 0, of 5 and 4611686018427387904: the result is no integer of the type"},
    {"And", "s,s", "(And): the inputs are no constants of truth values"},
    {"Where", "s,x,x", "(Where): input 0 is no constant of truth values, and no comparison of activations"},
    {"CumSum", "x,z", "(CumSum): axis 0 is the batch, or merged with it: samples would be mixed"},
    {"GatherElements", "x,s", "(GatherElements): each sample would have places of its own"},
    {"GatherND", "x,z", "(GatherND): axis 0 is the batch"},
    {"GatherND", "x,s", "(GatherND): index 5 is out of range for an axis of 1 entries"},
    {"GatherND", "z,s", "(GatherND): places along 3 of 1 axes"},
    {"Add", "s,k", "the shapes do not broadcast"},
    {"Where", "s,s,s", "(Where): input 0 is no constant of truth values"},
    {"Cast", "s", "(Cast): activations and parameters become floats of any type; constants of integers"},
    {"ConstantOfShape", "x", "(ConstantOfShape): the inputs are no constants of integers"},
    {"Range", "z,one,z", "(Range): from 0 to 1 by 0: expected a step that is not 0"},
    {"Range", "z,s,z", "(Range): input 1 has 3 entries; expected one"},
    {"Range", "one,z,one", "(Range): 1 to 65536 integers"},
    {"ReduceProd", "x", "(ReduceProd): a product over the batch axis"},
    {"ReduceProd", "hh", "(ReduceProd): entry 1: the product is no integer of the type"},
    {"ReduceProd", "w", "(ReduceProd): input 0 is no list of integers"},
    {"Max", "s,x", "(Max): input 0 must hold floats"},
    {"Add", "w,s", "input 1 must hold floats"},
    {"Concat", "s,x", "input 0"},
  };

  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    begin(15, SHAPE(-1, 3, 2,));
    drawn("w", SHAPE(3,));
    integers("z", SHAPE(0,));
    integers("l", SHAPE(-1,));
    integers("k", SHAPE(1, 2,));
    integers("h", SHAPE(1L << 62,));
    integers("hh", SHAPE(1L << 62, 2,));
    integers("one", SHAPE(1,));
    integers("least", SHAPE(INT64_MIN,));
    model_node(&m, "Shape", "x", "s");
    if (strcmp(bad[i].op, "Concat") == 0)
      attr_int(model_node(&m, bad[i].op, bad[i].in, "y"), "axis", 1);
    else
      model_node(&m, bad[i].op, bad[i].in, "y");
    refused(SHAPE(5, 3, 2,), bad[i].says);
  }
}
END_TEST

START_TEST(dropout)
{
  for (int64_t mode = 0; mode < 2; mode++)
    for (int ratio = 0; ratio < 2; ratio++) {
      begin(13, SHAPE(-1, 2,));
      *model_floats(&m, "r", SHAPE()) = ratio / 2.0;
      model_integers(&m, "t", SHAPE())[0] = mode;
      model_node(&m, "Dropout", "x,r,t", "y,mask");
      if (mode == 1 && ratio > 0) {
        refused(SHAPE(3, 2,), "(Dropout): in training mode it draws a mask|array 'y' of zeros and ones");
        continue;
      }
      ck_assert_msg(build(SHAPE(3, 2,)) == CLARKE_OK, "%s", error.text);
      lowers_to("g");
      ck_assert_int_eq(g.values[g.steps[0].in[0].value].bound || mode == 0, mode == 0); /* x is no number; r is, where it counts */
      end();
    }
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("windows");

  tcase_add_test(tcase, convolutions);
  tcase_add_test(tcase, poolings);
  tcase_add_test(tcase, means);
  tcase_add_test(tcase, global_averages);
  tcase_add_test(tcase, global_maxima);
  tcase_add_test(tcase, extremes);
  tcase_add_test(tcase, bad_extremes);
  tcase_add_test(tcase, sorted);
  tcase_add_test(tcase, bad_sorted);
  tcase_add_test(tcase, lowerings);
  tcase_add_test(tcase, networks);
  tcase_add_test(tcase, batch_normalization);
  tcase_add_test(tcase, bad_normalizations);
  tcase_add_test(tcase, statistics_that_are_weights);
  tcase_add_test(tcase, layer_normalizations);
  tcase_add_test(tcase, instance_and_group_normalizations);
  tcase_add_test(tcase, batch_normalization_in_training);
  tcase_add_test(tcase, concatenations);
  tcase_add_test(tcase, bad_concatenations);
  tcase_add_test(tcase, paddings);
  tcase_add_test(tcase, bad_paddings);
  tcase_add_test(tcase, bad_convolutions);
  tcase_add_test(tcase, bad_poolings);
  tcase_add_test(tcase, bad_means);
  tcase_add_test(tcase, repetitions);
  tcase_add_test(tcase, class_tokens);
  tcase_add_test(tcase, bad_repetitions);
  tcase_add_test(tcase, places);
  tcase_add_test(tcase, places_of_samples);
  tcase_add_test(tcase, masks);
  tcase_add_test(tcase, computed_shapes);
  tcase_add_test(tcase, computed_places);
  tcase_add_test(tcase, slices_of_axes);
  tcase_add_test(tcase, slices_of_samples);
  tcase_add_test(tcase, constants_of_samples_behind);
  tcase_add_test(tcase, bad_computed_shapes);
  tcase_add_test(tcase, dropout);
  return run_tests();
}
