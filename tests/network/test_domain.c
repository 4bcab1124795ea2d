/* Quotients, reciprocals and roots of activations against the naive evaluator: values, tangents and reverse mode in random
 * networks, exactly where they are rational, else within their enclosures; and what lies on a domain's border, or outside. */
#include "machine.h"
#include "networks.h"
#include "convolutional.h"
#include "compared.h"
#include "network/graph/build.h"
#include "network/derive/tangent.h"
#include "network/pass/domain.h"
#include "network/pass/least.h"

static double
quarter(uint64_t *state)
{
  return (double)draw_between(state, -6, 6) / 4;
}

START_TEST(values_tangents_and_gradients)
{
  uint64_t state = 91;
  size_t checked = 0, touched = 0, exact = 0, skipped = 0;
  double widest = 0;

  for (size_t i = 0; i < 500; i++) {
    naive_run r = {.proxy = right_slope};
    growing grown;
    clarke_tensor x = grow_any(&grown, &state, i % 2 ? quarter : small_number, 2 + draw_below(&state, 6), true, true, true);
    machine k;
    double radius;
    mpq_t off;

    mpq_init(off);
    machine_begin(&k, &grown.m, &x, profile_with("first"), draw_below(&state, 2));
    skipped += k.pass.open > 0 || k.replay.open > 0;
    if (k.pass.open == 0 && k.replay.open == 0) {
      naive_begin(&r, &grown.m, &x);
      draw_direction(&k, &r, &state);
      naive_go(&r);
      OK(clarke_tangent_run(k.tangent, &k.pass, &k.slopes, k.d, &error));
      checked += check_enclosures(&k, &r, i, &widest);
      gradient_difference(off, &radius, &k, &r);
      ck_assert_msg(fabs(mpq_get_d(off)) <= radius + 0x1p-180, "network %zu: the gradient is off by %g, radius %g", i,
                    mpq_get_d(off), radius);
      touched += k.replay.n_touches > 0;
      exact += radius == 0;
      naive_clear(&r);
    }
    machine_end(&k);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
    mpq_clear(off);
  }
  printf("quotients: %zu activations, widest %g; %zu networks touched, %zu with exact gradients, %zu open\n", checked, widest,
         touched, exact, skipped);
  ck_assert_double_lt(widest, 0x1p-20);
  ck_assert_uint_gt(touched, 100);
  ck_assert_uint_gt(exact, 100);
  ck_assert_uint_lt(skipped, 50);
}
END_TEST

/* What the replay says of OP applied to x (and divided by it, for Div). */
static clarke_status
replayed(const char *op, double x, bool behind_zero)
{
  clarke_model m;
  clarke_tensor batch = tensor_of("x", CLARKE_F64, SHAPE(3, 1,));
  clarke_graph g;
  clarke_replay replay;
  clarke_status status;

  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, 1,));
  batch.real[0] = batch.real[2] = 4;
  batch.real[1] = x;
  model_node(&m, op, strcmp(op, "Div") == 0 ? "x,x" : "x", "f");
  if (behind_zero) { /* 0 times that, which no kink needs */
    model_floats(&m, "w", SHAPE(1,))[0] = 0;
    model_node(&m, "Mul", "f,w", "y");
  } else
    model_node(&m, "Relu", "f", "y");
  model_output(&m, "y");
  clarke_graph_init(&g);
  clarke_replay_init(&replay);
  OK(clarke_graph_build(&g, &m, &batch, &error));
  OK(clarke_graph_wrt(&g, NULL, 0, &error));
  status = clarke_replay_run(&replay, NULL, &g, &batch, false, 1, &error);
  clarke_replay_clear(&replay);
  clarke_graph_clear(&g);
  clarke_tensor_clear(&batch);
  clarke_model_clear(&m);
  return status;
}

/* One sample of three on the border, or beyond: refused, with the node named, whatever reads it. */
START_TEST(borders_are_refused)
{
  static const struct {
    const char *op;
    double bad[2], good[2];
    const char *says;
  } all[] = {{"Div", {0, 0}, {-1, 0x1p-1000}, "a division"}, {"Reciprocal", {0, 0}, {-3, 0x1p-1000}, "a division"},
             {"Sqrt", {0, -1}, {0x1p-900, 2}, "a root"}, {"Log", {0, -0x1p-1000}, {0x1p-1000, 1}, "a logarithm"}};

  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    for (size_t k = 0; k < 4; k++) {
      ck_assert_int_eq(replayed(all[i].op, all[i].bad[k / 2], k % 2), CLARKE_EINPUT);
      ck_assert_msg(strstr(error.text, all[i].says) != NULL && strstr(error.text, "node") != NULL, "%s", error.text);
      ck_assert_msg(replayed(all[i].op, all[i].good[k / 2], k % 2) == CLARKE_OK, "%s: %s", all[i].op, error.text);
    }
}
END_TEST

/* At one number, which parameters move or do not: the value; NAN where it is refused. */
static double
jumped(clarke_function function, double x, double radius, bool still, bool slope)
{
  const clarke_step s = {.kind = CLARKE_ANALYTIC, .function = function, .still = still};
  clarke_matrix at, y;
  double value = NAN;
  bool vague;

  clarke_matrix_init(&at);
  clarke_matrix_init(&y);
  OK(clarke_matrix_set_doubles(&at, 1, 1, &x, &error));
  if (radius > 0) {
    OK(clarke_matrix_need_radius(&at, &error));
    at.radius[0] = radius;
  }
  if (clarke_domain_apply(&y, &vague, &s, &at, slope, 64, &error) == CLARKE_OK) {
    value = clarke_matrix_get_double(&y, 0, 0);
    ck_assert(clarke_matrix_radius(&y, 0, 0) == 0);
  } else
    ck_assert(vague == (radius > 0));
  clarke_matrix_clear(&at);
  clarke_matrix_clear(&y);
  return value;
}

/* Where they jump they have no derivative, if the parameters move them; off it, and where nothing does, they are what ONNX says. */
START_TEST(jumps_are_refused)
{
  static const struct {
    clarke_function function;
    double at, value, beside, below, above;
  } all[] = {{CLARKE_ABOVE, 0, 0, 0x1p-900, 0, 1}, {CLARKE_FLOOR, 2, 2, 0x1p-40, 1, 2}, {CLARKE_FLOOR, -3, -3, 0x1p-40, -4, -3},
             {CLARKE_ROUND, 2.5, 2, 0x1p-40, 2, 3}, {CLARKE_ROUND, -0.5, 0, 0x1p-40, -1, 0}, {CLARKE_ROUND, 1.5, 2, 0x1p-40, 1, 2},
             {CLARKE_TRUNCATE, -1, -1, 0x1p-40, -1, 0}, {CLARKE_TRUNCATE, 0x1p31 - 1, 0x1p31 - 1, 0x1p-20, 0x1p31 - 2, 0x1p31 - 1}};

  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    const clarke_function f = all[i].function;

    ck_assert(isnan(jumped(f, all[i].at, 0, false, false)));
    ck_assert_msg(strstr(error.text, "has no generalized derivative") != NULL, "%s", error.text);
    ck_assert(jumped(f, all[i].at, 0, true, false) == all[i].value && jumped(f, all[i].at, 0, true, true) == 0);
    for (int still = 0; still < 2; still++) {
      ck_assert(jumped(f, all[i].at - all[i].beside, all[i].beside / 2, still, false) == all[i].below);
      ck_assert(jumped(f, all[i].at + all[i].beside, all[i].beside / 2, still, false) == all[i].above);
      ck_assert(isnan(jumped(f, all[i].at, all[i].beside, still, false)));
      ck_assert_msg(strstr(error.text, "cannot be told") != NULL, "%s", error.text);
    }
  }
  ck_assert(jumped(CLARKE_HELD, 0.5, 0, false, false) == 0.5 && jumped(CLARKE_HELD, 0.5, 0, false, true) == 0);
  ck_assert(jumped(CLARKE_HELD, 0.5, 0.25, false, true) == 0); /* of whatever it holds */
  ck_assert(jumped(CLARKE_TRUNCATE, 0, 0.5, false, false) == 0 && isnan(jumped(CLARKE_TRUNCATE, 0x1p31, 0, true, false)));
}
END_TEST

/* What moves: what reads a parameter, and what reads that; not what jumps. */
START_TEST(jumps_carry_nothing)
{
  bool carries[3] = {false, true, false};
  clarke_parameter p = {.name = (char *)(uintptr_t)"w"};
  clarke_value values[3] = {{.constant = true}, {.parameter = CLARKE_NONE}, {.parameter = CLARKE_NONE}};
  clarke_operand in = {.value = 1, .coef = 1};
  clarke_step s = {.kind = CLARKE_ANALYTIC, .function = CLARKE_LOG, .in = &in, .n_in = 1, .out = 2};
  clarke_graph net = {.n_values = 3, .n_steps = 1, .n_parameters = 1, .values = values, .steps = &s, .parameters = &p};

  ck_assert(clarke_graph_carries(&net, &s, carries));
  s.function = CLARKE_ABOVE;
  ck_assert(!clarke_graph_carries(&net, &s, carries));
  s = (clarke_step){.kind = CLARKE_ANALYTIC, .function = CLARKE_ABOVE, .in = &in, .n_in = 1, .out = 2};
  OK(clarke_graph_mark_still(&net, &error));
  ck_assert(s.still);
  in.value = 0;
  p.wrt = true;
  s.kind = CLARKE_SUM;
  ck_assert(clarke_graph_carries(&net, &s, carries));
}
END_TEST

/* --- by the operators alone ------------------------------------------------------------------- */

/* Things that are not below 0, or may be: one of them upon another, with something added, and a root, a logarithm or a quotient. */
static void
grow_positive(growing *g, uint64_t *state)
{
  static const char *const ops[] = {"Relu", "Abs", "Sigmoid", "Tanh", "Softplus", "Neg", "Softmax", "HardSigmoid", "HardSwish"};
  static const char *const ends[] = {"Sqrt", "Log", "Reciprocal"};
  const size_t three = 3;

  grow_begin(g, state, quarter, 1, &three);
  for (size_t n = 1 + draw_below(state, 2); n > 0; n--) {
    char before[16];

    strcpy(before, g->at);
    switch (draw_below(state, 7)) {
    case 0:
    case 1:
      grow_node(g, "Mul", draw_below(state, 4) ? before : "x", true);
      break;
    case 2:
      grow_dense(g, 3);
      for (size_t e = 0; e < 9 && draw_below(state, 2); e++)
        g->m.tensors[g->m.n_tensors - 1].real[e % g->m.tensors[g->m.n_tensors - 1].count] = (double)draw_below(state, 5) / 4;
      break;
    case 3:
      attr_int(grow_node(g, "ReduceMax", NULL, false), "keepdims", 1);
      attr_ints(&g->m.nodes[g->m.n_nodes - 1], "axes", SHAPE(1,));
      grow_node(g, draw_below(state, 2) ? "Add" : "Sub", before, draw_below(state, 2));
      break;
    case 4: {
      char low[16];

      strcpy(low, new_name(g, "l"));
      model_floats(&g->m, low, (const long[]){SHAPE_END})[0] = quarter(state);
      grow_node(g, "Clip", low, false);
      break;
    }
    default:
      grow_node(g, ops[draw_below(state, 9)], NULL, false);
    }
  }
  if (draw_below(state, 5)) {
    char one[16];
    double *w;

    strcpy(one, new_name(g, "o"));
    w = model_floats(&g->m, one, SHAPE(3,));
    for (size_t e = 0; e < 3; e++)
      w[e] = draw_below(state, 12) ? 0.25 + (double)draw_below(state, 3) : quarter(state);
    grow_node(g, draw_below(state, 6) ? "Add" : "Mul", one, draw_below(state, 2));
  }
  grow_node(g, ends[draw_below(state, 3)], NULL, false);
  grow_node(g, "Relu", NULL, false);
  model_output(&g->m, g->at);
}

/* Where the operators are said to tell no input is refused: of zeros, of small numbers and of large ones. */
START_TEST(what_operators_tell)
{
  uint64_t state = 97;
  size_t inside = 0, refused = 0;

  for (size_t i = 0; i < 4000; i++) {
    growing grown;
    clarke_tensor x;
    clarke_graph g;
    clarke_replay replay;
    bool told, bad = false;

    grow_positive(&grown, &state);
    x = grow_batch(&grown, 4);
    clarke_graph_init(&g);
    clarke_replay_init(&replay);
    OK(clarke_graph_build(&g, &grown.m, &x, &error));
    OK(clarke_graph_wrt(&g, NULL, 0, &error));
    told = clarke_least_is_inside(&g);
    for (size_t round = 0; round < 3; round++) {
      for (size_t e = 0; e < x.count; e++)
        x.real[e] = round == 0 ? 0 : round == 1 ? quarter(&state) : 40 * quarter(&state);
      bad = bad || clarke_replay_run(&replay, NULL, &g, &x, true, 1, &error) == CLARKE_EINPUT;
    }
    if (told && bad)
      print_model(&grown.m);
    ck_assert_msg(!told || !bad, "network %zu: %s", i, error.text);
    inside += told;
    refused += bad;
    clarke_replay_clear(&replay);
    clarke_graph_clear(&g);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  printf("domains: %zu of 4000 told by operators, %zu refused\n", inside, refused);
  ck_assert(inside > 400 && refused > 400);
}
END_TEST

/* x y^T of one x is no square but on its diagonal, though both factors are one value. */
START_TEST(products_of_one_value)
{
  clarke_model m;
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 2,));
  clarke_graph g;

  model_begin(&m, 16);
  model_input(&m, "x", SHAPE(-1, 2,));
  memcpy(model_integers(&m, "c", SHAPE(3,)), (const int64_t[]){-1, 2, 1}, 3 * sizeof(int64_t));
  memcpy(model_integers(&m, "r", SHAPE(3,)), (const int64_t[]){-1, 1, 2}, 3 * sizeof(int64_t));
  model_floats(&m, "o", SHAPE(1,))[0] = 1;
  model_node(&m, "Reshape", "x,c", "a");
  model_node(&m, "Reshape", "x,r", "b");
  model_node(&m, "MatMul", "a,b", "p");
  model_node(&m, "Add", "p,o", "s");
  model_node(&m, "Sqrt", "s", "f");
  model_node(&m, "Relu", "f", "y");
  model_output(&m, "y");
  clarke_graph_init(&g);
  OK(clarke_graph_build(&g, &m, &x, &error));
  ck_assert(!clarke_least_is_inside(&g));
  clarke_graph_clear(&g);
  clarke_tensor_clear(&x);
  clarke_model_clear(&m);
}
END_TEST

/* One operator each: the root of its result plus 1. Some say that this is above 0, others do not, though they are near to these. */
static const struct {
  const char *op, *in[2]; /* of x, which may be anything, or r = Relu(x) and s = Sigmoid(x), which are not below 0 */
  bool told;
} single[] = {
  {"MatMul", {"x", "x"}, false}, /* a row by a column of one value: no squares */
  {"Mul", {"x", "x"}, true},
  {"Mul", {"r", "s"}, true},     {"Mul", {"s", "r"}, true},
  {"Mul", {"r", "x"}, false},    {"Mul", {"x", "r"}, false},
  {"Max", {"x", "x"}, false},    {"Max", {"r", "s"}, true},
  {"ReduceMax", {"x"}, false},   {"ReduceMax", {"r"}, true},
  {"Add", {"r", "s"}, true},     {"Add", {"r", "x"}, false},
  {"Sub", {"r", "s"}, false},    {"Neg", {"r"}, false},
  {"Softmax", {"x"}, true},      {"LogSoftmax", {"x"}, false},
  {"Exp", {"x"}, true},          {"Tanh", {"x"}, false},
  {"Relu", {"x"}, true},         {"LeakyRelu", {"r"}, false},
  {"Mul", {"r", "w"}, true},     {"Mul", {"x", "w"}, false}, /* w is positive, v is not */
  {"Mul", {"r", "v"}, false},    {"Div", {"r", "w"}, true},
  {"Div", {"x", "w"}, false},    {"MatMul", {"r", "w"}, true},
  {"MatMul", {"x", "w"}, false}, {"MatMul", {"r", "v"}, false},
};

START_TEST(single_operators_tell)
{
  char in[8];
  clarke_model m;
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 2, 2,));
  clarke_graph g;

  snprintf(in, sizeof in, "%s%s%s", single[_i].in[0], single[_i].in[1] != NULL ? "," : "", single[_i].in[1] != NULL ? single[_i].in[1] : "");
  model_begin(&m, 16);
  model_input(&m, "x", SHAPE(-1, 2, 2,));
  model_floats(&m, "o", SHAPE(1,))[0] = 1;
  memcpy(model_floats(&m, "w", SHAPE(2, 2,)), (const double[]){1, 2, 0.5, 3}, 4 * sizeof(double));
  memcpy(model_floats(&m, "v", SHAPE(2, 2,)), (const double[]){1, 2, -0.5, 3}, 4 * sizeof(double));
  model_node(&m, "Relu", "x", "r");
  model_node(&m, "Sigmoid", "x", "s");
  if (strcmp(single[_i].op, "ReduceMax") == 0)
    attr_ints(model_node(&m, "ReduceMax", in, "p"), "axes", SHAPE(2,));
  else
    model_node(&m, single[_i].op, in, "p");
  model_node(&m, "Add", "p,o", "t");
  model_node(&m, "Sqrt", "t", "f");
  model_node(&m, "Relu", "f", "y");
  model_output(&m, "y");
  clarke_graph_init(&g);
  OK(clarke_graph_build(&g, &m, &x, &error));
  ck_assert_msg(clarke_least_is_inside(&g) == single[_i].told, "%s of %s", single[_i].op, in);
  clarke_graph_clear(&g);
  clarke_tensor_clear(&x);
  clarke_model_clear(&m);
}
END_TEST

int
main(void)
{
  TCase *t = tests_of("network-domain");

  tcase_add_test(t, values_tangents_and_gradients);
  tcase_add_test(t, borders_are_refused);
  tcase_add_test(t, jumps_are_refused);
  tcase_add_test(t, jumps_carry_nothing);
  tcase_add_test(t, what_operators_tell);
  tcase_add_test(t, products_of_one_value);
  tcase_add_loop_test(t, single_operators_tell, 0, (int)(sizeof single / sizeof *single));
  return run_tests();
}
