/* Weights that nodes compute of constants: drawn nodes give what they give by weights of the same entries. And the steps that are made. */
#include "steps.h"
#include "node.h"

#include "network/graph/build.h"
#include "op/computed.h"
#include "op/lower.h"

#define SAMPLES 2
#define OK(call) \
  do { \
    if ((call) != CLARKE_OK) \
      ck_abort_msg("%s: %s", #call, error.text); \
  } while (0)

static uint64_t state = 11;

/* One node: its inputs after x, and x itself. */
typedef struct {
  const char *op, *direction;
  long x[5], weight[3][5];
  size_t n_weights;
  long groups, strides, transposed;
  double alpha, beta;
  bool several; /* no axis is the batch: several images */
} drawn;

static long
small(long most)
{
  return draw_between(&state, 1, most);
}

static void
set_shape(long *to, size_t n, const long *from)
{
  memcpy(to, from, n * sizeof *to);
  to[n] = SHAPE_END;
}

#define SET(to, ...) set_shape(to, sizeof((long[]){__VA_ARGS__}) / sizeof(long), (long[]){__VA_ARGS__})

static void
draw_windows(drawn *d, bool turned)
{
  const long groups = small(2), inputs = small(2), outputs = small(2), kernel = small(2);

  d->op = turned ? "ConvTranspose" : "Conv";
  d->groups = groups;
  d->strides = small(2);
  d->n_weights = 2;
  SET(d->x, d->several ? small(3) : -1, groups * inputs, kernel + small(2));
  if (turned)
    SET(d->weight[0], groups * inputs, outputs, kernel);
  else
    SET(d->weight[0], groups * outputs, inputs, kernel);
  SET(d->weight[1], groups * outputs);
}

static void
draw_node(drawn *d)
{
  const size_t kind = draw_below(&state, 5);
  const long in = small(3), out = small(3);

  *d = (drawn){.alpha = 1, .several = draw_below(&state, 2)};
  if (kind == 0) {
    *d = (drawn){.op = "Gemm", .transposed = small(2) - 1, .alpha = (double)small(3) - 1, .beta = (double)small(3) / 2, .n_weights = 2};
    SET(d->x, -1, in);
    if (d->transposed)
      SET(d->weight[0], out, in);
    else
      SET(d->weight[0], in, out);
    SET(d->weight[1], out);
  } else if (kind < 3)
    draw_windows(d, kind == 2);
  else if (kind == 3) {
    *d = (drawn){.op = "BatchNormalization", .n_weights = 2};
    SET(d->x, -1, in, out);
    SET(d->weight[0], in);
    SET(d->weight[1], in);
  } else {
    *d = (drawn){.op = "RNN", .n_weights = 3, .direction = draw_below(&state, 2) ? "bidirectional" : "reverse"};
    const long ways = d->direction[0] == 'b' ? 2 : 1;

    SET(d->x, -1, small(2), in);
    SET(d->weight[0], ways, out, in);
    SET(d->weight[1], ways, out, out);
    SET(d->weight[2], ways, 2 * out);
  }
}

/* Weight i of these entries: an initializer, or the sum of two. */
static void
add_weight(size_t i, const drawn *d, const double *entries, bool computed)
{
  const char *names[3][3] = {{"a", "a1", "a2"}, {"b", "b1", "b2"}, {"c", "c1", "c2"}}, *sums[3] = {"a1,a2", "b1,b2", "c1,c2"};
  double *to = model_floats(&m, names[i][computed], d->weight[i]), *more;
  const size_t n = m.tensors[m.n_tensors - 1].count;

  memcpy(to, entries, n * sizeof *to);
  if (!computed)
    return;
  more = model_floats(&m, names[i][2], d->weight[i]);
  for (size_t e = 0; e < n; e++)
    to[e] -= more[e] = (double)draw_between(&state, -2, 2);
  model_node(&m, "Add", sums[i], names[i][0]);
}

static void
add_node(const drawn *d)
{
  const bool recurrent = d->direction != NULL, normal = d->op[0] == 'B';
  clarke_model_node *node;

  if (recurrent)
    attr_ints(model_node(&m, "Transpose", "x", "t"), "perm", SHAPE(1, 0, 2,));
  if (normal) {
    const long channels[2] = {d->x[1], SHAPE_END};
    double *var;

    model_floats(&m, "mean", channels);
    var = model_floats(&m, "var", channels);
    for (long c = 0; c < d->x[1]; c++)
      var[c] = 0.25;
  }
  node = model_node(&m, d->op, recurrent ? "t,a,b,c" : normal ? "x,a,b,mean,var" : "x,a,b", recurrent ? "y0" : "y");
  if (recurrent) {
    attr_string(node, "direction", d->direction);
    attr_string(node, "activations", d->direction[0] == 'b' ? "Relu Relu" : "Relu");
    node->attr[1].type = CLARKE_ATTR_STRINGS;
    attr_ints(model_node(&m, "Transpose", "y0", "y"), "perm", SHAPE(2, 0, 1, 3,));
  } else if (normal)
    attr_float(node, "epsilon", 0);
  else if (d->op[0] == 'G') {
    attr_int(node, "transB", d->transposed);
    attr_float(node, "alpha", d->alpha);
    attr_float(node, "beta", d->beta);
  } else {
    attr_int(node, "group", d->groups);
    attr_ints(node, "strides", (long[]){d->strides, SHAPE_END});
  }
  model_output(&m, "y");
}

/* The output's entries in sample 0, by weights of which those in the mask are computed; their number. */
static size_t
outputs(const drawn *d, const double *x, double *const *weight, unsigned mask, double *y)
{
  size_t dims[4] = {SAMPLES}, rank = shape_rank(d->x), from = d->several ? 1 : 0, n;
  clarke_tensor batch;
  steps_run run;

  model_begin(&m, 17);
  clarke_graph_init(&g);
  model_input(&m, "x", d->x);
  for (size_t a = 1 - from; a < rank; a++)
    dims[a + from] = (size_t)d->x[a];
  clarke_tensor_init(&batch);
  OK(clarke_tensor_shape(&batch, "x", CLARKE_F64, rank + from, dims, &error));
  memcpy(batch.real, x, batch.count * sizeof *x);
  for (size_t i = 0; i < d->n_weights; i++)
    add_weight(i, d, weight[i], mask >> i & 1);
  add_node(d);
  OK(clarke_graph_build(&g, &m, &batch, &error));
  ck_assert_uint_eq(g.batched, !d->several);
  n = g.values[g.output].count;
  ck_assert_uint_le(n, 200);
  steps_begin(&run, &g);
  steps_go(&run, &batch, SAMPLES - 1);
  for (size_t e = 0; e < n; e++)
    y[e] = mpq_get_d(run.value[g.output][e]);
  steps_end(&run);
  clarke_tensor_clear(&batch);
  clarke_graph_clear(&g);
  clarke_model_clear(&m);
  return n;
}

START_TEST(computed_weights_are_weights)
{
  end();
  for (size_t k = 0; k < draw_count(1500); k++) {
    double x[200], entries[3][100], y[200], z[200], *weight[3] = {entries[0], entries[1], entries[2]};
    drawn d;
    size_t n;

    draw_node(&d);
    for (size_t e = 0; e < 200; e++)
      x[e] = (double)draw_between(&state, -3, 3);
    for (size_t i = 0; i < 3; i++)
      for (size_t e = 0; e < 100; e++)
        entries[i][e] = (double)draw_between(&state, -3, 3);
    n = outputs(&d, x, weight, 0, y);
    for (unsigned mask = 1; mask < 1u << d.n_weights; mask++) {
      ck_assert_uint_eq(outputs(&d, x, weight, mask, z), n);
      for (size_t e = 0; e < n; e++)
        ck_assert_msg(y[e] == z[e], "%s, weights %u: entry %zu is %g, expected %g", d.op, mask, e, z[e], y[e]);
    }
  }
  begin();
}
END_TEST

/* Value 0 is an activation of the samples', 2 a constant; without a batch 0 stands for what is computed. */
START_TEST(inputs_are_constants_or_computed)
{
  size_t value, *map = calloc(2, sizeof *map);

  ck_assert_int_eq(clarke_computed_check(&low, 2, &error), CLARKE_OK);
  ck_assert_int_eq(clarke_computed_check(&low, 3, &error), CLARKE_EINPUT);
  says(error.text, "input 3 is missing");
  ck_assert_int_eq(clarke_computed_check(&low, 0, &error), CLARKE_EINPUT);
  says(error.text, "node 7|input 0 must be a constant, or computed of constants alone; 'x' is another one for each sample|clarke.record");
  ck_assert_int_eq(clarke_computed_weight(&low, 0, &error), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_computed_weight(&low, 1, &error), CLARKE_EINPUT);
  says(error.text, "must hold floats");
  g.values[0].batch.none = true;
  OK(clarke_computed_weight(&low, 0, &error));
  g.values[2].initializer = true;
  g.values[2].name = strdup("b");
  OK(clarke_computed_weight(&low, 2, &error));
  ck_assert_uint_eq(g.n_parameters, 1);
  ck_assert_uint_eq(g.parameters[0].uses, 1);
  map[0] = 2;
  map[1] = 1;
  OK(clarke_computed_moved(&low, 0, 1, (size_t[]){2}, map, &value, &error));
  ck_assert_int_eq(g.steps[0].kind, CLARKE_GATHER);
  ck_assert(g.steps[0].out == value && g.steps[0].in[0].value == 0 && g.steps[0].in[0].map == map);
  OK(clarke_computed_moved(&low, 2, 1, (size_t[]){3}, NULL, &value, &error));
  ck_assert(g.values[value].constant && g.values[value].parameter == 0);
  ck_assert_int_eq(clarke_computed_scale(&low, 0, 2, 1, (size_t[]){3}, &error)->kind, CLARKE_SCALE);
  ck_assert_int_eq(clarke_computed_scale(&low, 0, 0, 1, (size_t[]){3}, &error)->kind, CLARKE_PRODUCT);
  ck_assert_int_eq(clarke_computed_dense(&low, 0, (clarke_dense){.weight = 2, .blocks = 8, .inner = 3, .outer = 1, .repeat = 1}, 1, (size_t[]){8}, &error)->kind,
                   CLARKE_DENSE);
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("computed");

  tcase_add_checked_fixture(tcase, begin, end);
  tcase_add_test(tcase, computed_weights_are_weights);
  tcase_add_test(tcase, inputs_are_constants_or_computed);
  return run_tests();
}
