/* Enclosures that lose their bounds: precision grows until they have some, and past the highest nothing is claimed. Those that
 * keep them do not grow longer from step to step. */
#include "models.h"
#include "../ok.h"

#include "exact/ball.h"
#include "network/graph/build.h"
#include "network/derive/loss.h"
#include "network/replay/replay.h"
#include "network/derive/reverse.h"
#include "network/derive/sink.h"
#include "network/derive/slopes.h"

#include <math.h>

#define PRECISION 1400 /* of the comparison */
#define AT 0.3

typedef struct {
  clarke_model m;
  clarke_graph g;
  clarke_replay replay;
  clarke_tensor x;
  int sign; /* of what is left behind the differences */
} scene;

/* value = Sigmoid(x) less so many doubles, each the nearest to what is left: some 53 bits a term are lost. */
static void
begin(scene *s, size_t terms, char *value)
{
  char name[32], both[80];
  arb_t left, number;

  arb_init(left);
  arb_init(number);
  arb_set_d(left, -AT);
  arb_exp(left, left, PRECISION);
  arb_add_ui(left, left, 1, PRECISION);
  arb_inv(left, left, PRECISION);
  s->x = tensor_of("x", CLARKE_F64, SHAPE(1, 1,));
  s->x.real[0] = AT;
  model_begin(&s->m, 16);
  model_input(&s->m, "x", SHAPE(-1, 1,));
  model_node(&s->m, "Sigmoid", "x", "s");
  strcpy(value, "s");
  for (size_t i = 0; i < terms; i++) {
    const double c = arf_get_d(arb_midref(left), ARF_RND_NEAR);

    snprintf(name, sizeof name, "c%zu", i);
    model_floats(&s->m, name, SHAPE(1,))[0] = c;
    snprintf(both, sizeof both, "%s,%s", value, name);
    snprintf(value, 32, "t%zu", i);
    model_node(&s->m, "Sub", both, value);
    arb_set_d(number, c);
    arb_sub(left, left, number, PRECISION);
  }
  s->sign = arb_is_positive(left) ? 1 : arb_is_negative(left) ? -1 : 0;
  arb_clear(left);
  arb_clear(number);
}

/* value times 2^bits */
static void
enlarge(scene *s, char *value, int bits)
{
  static int n = 0;
  char name[32], both[80];

  snprintf(name, sizeof name, "m%d", n);
  model_floats(&s->m, name, SHAPE(1,))[0] = ldexp(1, bits);
  snprintf(both, sizeof both, "%s,%s", value, name);
  snprintf(value, 32, "e%d", n++);
  model_node(&s->m, "Mul", both, value);
}

static void
build(scene *s)
{
  clarke_graph_init(&s->g);
  clarke_replay_init(&s->replay);
  OK(clarke_graph_build(&s->g, &s->m, &s->x, &error));
}

static void
end(scene *s)
{
  clarke_replay_clear(&s->replay);
  clarke_graph_clear(&s->g);
  clarke_model_clear(&s->m);
  clarke_tensor_clear(&s->x);
}

/* Relu(Sigmoid(value) - 1/2): its argument has the value's sign. */
static void
end_in_a_kink(scene *s, const char *value)
{
  model_floats(&s->m, "half", SHAPE(1,))[0] = 0.5;
  model_node(&s->m, "Sigmoid", value, "u");
  model_node(&s->m, "Sub", "u,half", "v");
  model_node(&s->m, "Relu", "v", "y");
  model_output(&s->m, "y");
  build(s);
}

/* At the first precisions the second sigmoid's argument may be anything, and 1 / (1 + exp) has no bounds. */
START_TEST(precision_grows_until_there_are_bounds)
{
  for (size_t terms = 2; terms <= 14; terms += 3) {
    char value[32];
    scene s;

    begin(&s, terms, value);
    ck_assert_int_ne(s.sign, 0);
    enlarge(&s, value, 53 * (int)terms);
    end_in_a_kink(&s, value);
    OK(clarke_replay_run(&s.replay, NULL, &s.g, &s.x, terms % 2, 1, &error));
    ck_assert_uint_eq(s.replay.open, 0);
    ck_assert_int_eq(s.replay.piece[s.g.n_steps - 1][0], s.sign > 0);
    ck_assert_int_ge(s.replay.near.precision, 53 * (long)terms);
    end(&s);
  }
}
END_TEST

/* Past the highest precision the argument is open, and no pass claims anything: neither an error nor a touch. */
START_TEST(without_bounds_it_is_open)
{
  char value[32];
  scene s;

  begin(&s, 8, value);
  for (int i = 0; i < 4; i++)
    enlarge(&s, value, 500);
  end_in_a_kink(&s, value);
  OK(clarke_replay_run(&s.replay, NULL, &s.g, &s.x, false, 1, &error));
  ck_assert_uint_eq(s.replay.open, 1);
  ck_assert_uint_eq(s.replay.n_touches, 0);
  ck_assert_ptr_null(s.replay.near.g);
  ck_assert_int_eq(s.replay.piece[s.g.n_steps - 1][0], CLARKE_OPEN);
  end(&s);
}
END_TEST

/* A probability lies between 0 and 1, whatever is known of its argument; a masked one is next to nothing. */
START_TEST(probabilities_have_bounds)
{
  char value[32], both[80];
  scene s;
  clarke_forward f;

  begin(&s, 8, value);
  enlarge(&s, value, 500);
  model_floats(&s.m, "ramp", SHAPE(3,))[0] = 1;
  s.m.tensors[s.m.n_tensors - 1].real[1] = 0;
  s.m.tensors[s.m.n_tensors - 1].real[2] = -1;
  snprintf(both, sizeof both, "%s,ramp", value);
  model_node(&s.m, "Mul", both, "w");
  attr_int(model_node(&s.m, "Softmax", "w", "y"), "axis", 1);
  model_output(&s.m, "y");
  build(&s);
  clarke_forward_init(&f);
  s.replay.g = &s.g;
  s.replay.x = &s.x;
  s.replay.samples = 1;
  OK(clarke_replay_all(&f, &s.replay, true, 64, &error));
  ck_assert_int_eq(f.precision, 64);
  for (size_t e = 0; e < 3; e++) {
    const double middle = clarke_matrix_get_double(&f.value[s.g.output], e, 0);
    const double radius = clarke_matrix_radius(&f.value[s.g.output], e, 0);

    ck_assert(middle - radius >= -0x1p-30 && middle + radius <= 1 + 0x1p-30);
  }
  clarke_forward_clear(&f);
  end(&s);
}
END_TEST

START_TEST(masks_have_bounds)
{
  const double mask = -0x1.fffffep127; /* float32's least */
  clarke_forward f;
  scene s = {.x = tensor_of("x", CLARKE_F64, SHAPE(1, 4,))};
  double *m;

  for (size_t i = 0; i < 4; i++)
    s.x.real[i] = (double)i - 1;
  model_begin(&s.m, 16);
  model_input(&s.m, "x", SHAPE(-1, 4,));
  m = model_floats(&s.m, "mask", SHAPE(4,));
  m[1] = m[3] = mask;
  model_node(&s.m, "Sigmoid", "x", "s");
  model_node(&s.m, "Add", "s,mask", "t");
  attr_int(model_node(&s.m, "Softmax", "t", "y"), "axis", 1);
  model_output(&s.m, "y");
  build(&s);
  clarke_forward_init(&f);
  s.replay.g = &s.g;
  s.replay.x = &s.x;
  s.replay.samples = 1;
  OK(clarke_replay_all(&f, &s.replay, true, 256, &error));
  for (size_t e = 0; e < 4; e++) {
    const double truth = e % 2 ? 0 : 1 / (1 + exp((e == 0 ? 1 : -1) * (1 / (1 + exp(-1)) - 1 / (1 + exp(1)))));
    const double middle = clarke_matrix_get_double(&f.value[s.g.output], e, 0);

    ck_assert_double_le(clarke_matrix_radius(&f.value[s.g.output], e, 0), 0x1p-100);
    ck_assert_double_le(fabs(middle - truth), 0x1p-50);
  }
  clarke_forward_clear(&f);
  end(&s);
}
END_TEST

/* The slopes of thirty functions, of 128 bits and more each, leave a gradient of no more: 1 / cosh^2 of each argument, multiplied. */
START_TEST(gradients_stay_short)
{
  scene s = {.x = tensor_of("x", CLARKE_F64, SHAPE(1, 1,))};
  double at = AT, truth = 1;
  char before[32] = "x", value[32];
  clarke_matrix *grad, gradient;
  clarke_slopes slopes;
  clarke_forward f;
  clarke_loss loss = {.kind = CLARKE_LOSS_SUM, .y = NULL, .samples = 1};

  s.x.real[0] = AT;
  model_begin(&s.m, 16);
  model_input(&s.m, "x", SHAPE(-1, 1,));
  model_floats(&s.m, "w", SHAPE(1,))[0] = 1;
  model_node(&s.m, "Mul", "x,w", "z");
  strcpy(before, "z");
  for (int i = 0; i < 30; i++) {
    snprintf(value, sizeof value, "h%d", i);
    model_node(&s.m, "Tanh", before, value);
    strcpy(before, value);
    at = tanh(at);
    truth *= 1 - at * at;
  }
  model_output(&s.m, value);
  build(&s);
  OK(clarke_graph_wrt(&s.g, NULL, 0, &error));
  clarke_forward_init(&f);
  clarke_slopes_init(&slopes);
  s.replay.g = &s.g;
  s.replay.x = &s.x;
  s.replay.samples = 1;
  OK(clarke_replay_all(&f, &s.replay, true, 128, &error));
  OK(clarke_slopes_choose(&slopes, &f, NULL, 0, NULL, NULL, &error));
  grad = clarke_matrices_new(s.g.n_values);
  clarke_matrix_init(&gradient);
  OK(clarke_loss_seed(&grad[s.g.output], &loss, &f, NULL, &error));
  OK(clarke_reverse_run(grad, &f, &slopes, CLARKE_NONE, clarke_gradient_sink, &gradient, &error));
  ck_assert_double_eq_tol(clarke_matrix_get_double(&gradient, 0, 0), truth * AT, 1e-12);
  ck_assert_double_le(clarke_matrix_radius(&gradient, 0, 0), 0x1p-90);
  ck_assert_uint_le(clarke_matrix_bits(&gradient), 300);
  clarke_matrix_clear(&gradient);
  clarke_matrices_free(grad, s.g.n_values);
  clarke_slopes_clear(&slopes);
  clarke_forward_clear(&f);
  end(&s);
}
END_TEST

/* (1 + 2^-40) squared 17 times has five million bits, and is an enclosure before. What is behind is decided by it: its sign
 * beside 1, and exactly that it is 0 times itself. */
START_TEST(long_numbers_become_enclosures)
{
  scene s = {.x = tensor_of("x", CLARKE_F64, SHAPE(1, 1,))};
  char before[32] = "x", value[32], both[80];

  s.x.real[0] = 1 + 0x1p-40;
  model_begin(&s.m, 16);
  model_input(&s.m, "x", SHAPE(-1, 1,));
  for (int i = 0; i < 17; i++) {
    snprintf(value, sizeof value, "h%d", i);
    snprintf(both, sizeof both, "%s,%s", before, before);
    model_node(&s.m, "Mul", both, value);
    strcpy(before, value);
  }
  model_floats(&s.m, "w", SHAPE(1, 3,))[0] = 1;
  s.m.tensors[s.m.n_tensors - 1].real[1] = -1;
  memcpy(model_floats(&s.m, "b", SHAPE(3,)), (const double[]){-1, 1, 0}, 3 * sizeof(double));
  snprintf(both, sizeof both, "%s,w", value);
  model_node(&s.m, "MatMul", both, "p");
  model_node(&s.m, "Add", "p,b", "q");
  model_node(&s.m, "Relu", "q", "y");
  model_output(&s.m, "y");
  build(&s);
  OK(clarke_replay_run(&s.replay, NULL, &s.g, &s.x, true, 1, &error));
  ck_assert_uint_eq(s.replay.open, 0);
  ck_assert_int_eq(s.replay.piece[s.g.n_steps - 1][0], 1);
  ck_assert_int_eq(s.replay.piece[s.g.n_steps - 1][1], 0);
  ck_assert_uint_eq(s.replay.n_touches, 1);
  ck_assert_uint_eq(s.replay.touch[0].feature, 2);
  end(&s);
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("network-vague");
  int failed;

  tcase_add_test(tcase, precision_grows_until_there_are_bounds);
  tcase_add_test(tcase, without_bounds_it_is_open);
  tcase_add_test(tcase, probabilities_have_bounds);
  tcase_add_test(tcase, masks_have_bounds);
  tcase_add_test(tcase, gradients_stay_short);
  tcase_add_test(tcase, long_numbers_become_enclosures);
  failed = run_tests();
  flint_cleanup();
  return failed;
}
