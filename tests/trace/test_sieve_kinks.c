/* Arguments that are exactly at a kink other than 0, or at both bounds of a clamp: the gradient there is the profile's number times that
 * behind it. By doubles, too (sieve.h): the right record is bit-exact, and one with another number at a bound is never passed. And
 * largest entries of an axis, as hand-made files have them (ReduceMax), of which no indices are recorded. */
#include "scene.h"
#include "never_better.h"
#include "trace/certify/sieve.h"

#include <math.h>

enum { SAMPLES = 8 };

/* c = clamp(a, low, high) of a = x w, o = c v, w = v = 1; the profile's numbers at the two kinks. A profile of no name has none,
 * and no argument lies at a kink then. */
typedef struct {
  const char *op, *domain, *profile;
  double low, high, at_low, at_high;
} clamp;

static const clamp clamps[] = {
  {"Clip", "", "pytorch-2.13", 0, 6, 0, 0},          {"Clamp", "clarke", "pytorch-2.13", 0, 6, 1, 1},
  {"Clip", "", "pytorch-2.13", -1, 2.5, 0, 0},       {"Clamp", "clarke", "pytorch-2.13", -1, 2.5, 1, 1},
  {"Clamp", "clarke", "jax-0.10", -1, 2.5, 0.5, 0.5}, {"Clamp", "clarke", "pytorch-2.13", -1, 0.125, 1, 1},
};

/* One number of the record is another; -1: none is. */
typedef struct {
  int gradient_at; /* of the clamp's argument, */
  int output_at;   /* of its output: by sample */
} change;

static void
begin(scene *c, const clamp *as, const double *x, const double *y)
{
  clarke_error err = {CLARKE_OK, ""};
  clarke_model_node *node;
  clarke_model m;

  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, 1,));
  *model_floats(&m, "w", SHAPE(1, 1,)) = 1;
  *model_floats(&m, "v", SHAPE(1, 1,)) = 1;
  *model_floats(&m, "low", SHAPE()) = as->low;
  *model_floats(&m, "high", SHAPE()) = as->high;
  model_node(&m, "MatMul", "x,w", "a");
  node = model_node(&m, as->op, "a,low,high", "c");
  free(node->domain);
  node->domain = strdup(as->domain);
  model_node(&m, "MatMul", "c,v", "o");
  model_output(&m, "o");
  c->x = tensor_of("x", CLARKE_F32, SHAPE(SAMPLES, 1,));
  c->y = tensor_of("y", CLARKE_F32, SHAPE(SAMPLES, 1,));
  memcpy(c->x.real, x, SAMPLES * sizeof *x);
  memcpy(c->y.real, y, SAMPLES * sizeof *y);
  scene_build(c, &m, (clarke_loss){.kind = CLARKE_LOSS_MSE, .y = &c->y, .samples = SAMPLES}, "float32", 1);
  clarke_profile_clear(&c->profile);
  clarke_profile_init(&c->profile);
  if (as->profile != NULL)
    ck_assert_int_eq(clarke_profile_load(&c->profile, as->profile, &err), CLARKE_OK);
}

/* A step whose numbers are all exact. */
static void
build(scene *c, const clamp *as, const change *other)
{
  const double within = as->profile == NULL ? 0.5 : 0, low = as->low + within, high = as->high - within;
  const double x[SAMPLES] = {low, high, as->low - 1, as->high + 1, (as->low + as->high) / 2, low, high, 0.0625};
  double y[SAMPLES], out[SAMPLES], back[SAMPLES], in[SAMPLES], of_w = 0, of_v = 0;
  const long *column = SHAPE(SAMPLES, 1,), *one = SHAPE(1, 1,);

  for (int j = 0; j < SAMPLES; j++) {
    const double slope = x[j] == as->low ? as->at_low : x[j] == as->high ? as->at_high : x[j] > as->low && x[j] < as->high;

    out[j] = fmin(fmax(x[j], as->low), as->high);
    back[j] = j - 3.5;
    y[j] = out[j] - 4 * back[j]; /* 2 (o - y) / 8 */
    ck_assert((out[j] - y[j]) / 4 == back[j]);
    in[j] = slope * back[j] + (j == other->gradient_at ? back[j] * (slope > 0.75 ? -0.5 : 0.5) : 0);
    out[j] += j == other->output_at;
    of_w += (double)(float)x[j] * in[j];
    of_v += out[j] * back[j];
  }
  begin(c, as, x, y);
  put(&c->trace, "gradient/a", column, in);
  put(&c->trace, "gradient/c", column, back);
  put(&c->trace, "gradient/o", column, back);
  put(&c->trace, "output/a", column, x);
  put(&c->trace, "output/c", column, out);
  put(&c->trace, "output/o", column, out);
  of_w = (float)of_w;
  of_v = (float)of_v;
  put(&c->gradients, "v", one, &of_v);
  put(&c->gradients, "w", one, &of_w);
}

/* The answer of both passes, which is one; *by_doubles: did they decide? */
static clarke_certainty
ask(const clamp *as, const change *other, bool *by_doubles)
{
  clarke_certify exact, doubles;
  clarke_certainty answer;
  scene c;

  build(&c, as, other);
  scene_certify(&exact, &c, &c.trace, &c.gradients, false);
  scene_certify(&doubles, &c, &c.trace, &c.gradients, true);
  *by_doubles = expect_never_better(&exact, &doubles);
  answer = clarke_certify_answer(&exact);
  clarke_certify_clear(&exact);
  clarke_certify_clear(&doubles);
  scene_clear(&c);
  return answer;
}

START_TEST(at_bounds)
{
  const clamp *as = &clamps[_i];
  bool by_doubles;

  ck_assert_int_le(ask(as, &(change){-1, -1}, &by_doubles), CLARKE_WITHIN_BOUND);
  ck_assert_msg(by_doubles, "%s %g %g: the sieve left it open", as->op, as->low, as->high);
  for (int j = 0; j < SAMPLES; j++) {
    ck_assert_msg(ask(as, &(change){j, -1}, &by_doubles) == CLARKE_IS_REFUTED && !by_doubles, "%s: gradient of sample %d", as->op, j);
    ck_assert_msg(ask(as, &(change){-1, j}, &by_doubles) == CLARKE_IS_REFUTED && !by_doubles, "%s: output of sample %d", as->op, j);
  }
}
END_TEST

/* What a profile does not say of a kink is asked where an argument lies there, and nowhere else. */
START_TEST(untold)
{
  bool by_doubles;

  ck_assert_int_le(ask(&(clamp){"Clip", "", NULL, 0, 6, 0, 0}, &(change){-1, -1}, &by_doubles), CLARKE_WITHIN_BOUND);
  ck_assert(!by_doubles);
}
END_TEST

/* o = v m, m the largest of a's three numbers of each sample, a = x w, w = 1 and v = 1. The gradient goes to the places `to`. */
static void
build_largest(scene *c, const double *x, const size_t *to)
{
  double y[2], most[2], back[2] = {3, -2}, in[6] = {0}, of_w[9] = {0}, of_v = 0, *weights;
  clarke_model_node *node;
  clarke_model m;

  for (size_t j = 0; j < 2; j++) {
    most[j] = fmax(x[3 * j], fmax(x[3 * j + 1], x[3 * j + 2]));
    y[j] = most[j] - back[j]; /* 2 (o - y) / 2 */
    in[3 * j + to[j]] = back[j];
    of_v += most[j] * back[j];
    for (size_t i = 0; i < 3; i++)
      of_w[3 * i + to[j]] += x[3 * j + i] * back[j];
  }
  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, 3,));
  weights = model_floats(&m, "w", SHAPE(3, 3,));
  for (size_t i = 0; i < 9; i++)
    weights[i] = i % 4 == 0;
  *model_floats(&m, "v", SHAPE(1, 1,)) = 1;
  model_node(&m, "MatMul", "x,w", "a");
  node = model_node(&m, "ReduceMax", "a", "m");
  attr_ints(node, "axes", SHAPE(1,));
  attr_int(node, "keepdims", 1);
  model_node(&m, "MatMul", "m,v", "o");
  model_output(&m, "o");
  c->x = tensor_of("x", CLARKE_F32, SHAPE(2, 3,));
  c->y = tensor_of("y", CLARKE_F32, SHAPE(2, 1,));
  memcpy(c->x.real, x, 6 * sizeof *x);
  memcpy(c->y.real, y, sizeof y);
  scene_build(c, &m, (clarke_loss){.kind = CLARKE_LOSS_MSE, .y = &c->y, .samples = 2}, "float32", 1);
  put(&c->trace, "gradient/a", SHAPE(2, 3,), in);
  put(&c->trace, "gradient/m", SHAPE(2, 1,), back);
  put(&c->trace, "gradient/o", SHAPE(2, 1,), back);
  put(&c->trace, "output/a", SHAPE(2, 3,), x);
  put(&c->trace, "output/m", SHAPE(2, 1,), most);
  put(&c->trace, "output/o", SHAPE(2, 1,), most);
  put(&c->gradients, "v", SHAPE(1, 1,), &of_v);
  put(&c->gradients, "w", SHAPE(3, 3,), of_w);
}

START_TEST(largest)
{
  static const double x[] = {1, 4, -2, 8, 2, 3};

  for (size_t at = 0; at < 3; at++) {
    clarke_certify exact, doubles;
    scene c;

    build_largest(&c, x, (const size_t[]){1, at});
    scene_certify(&exact, &c, &c.trace, &c.gradients, false);
    scene_certify(&doubles, &c, &c.trace, &c.gradients, true);
    expect_never_better(&exact, &doubles);
    ck_assert(clarke_certify_answer(&exact) == (at == 0 ? CLARKE_BIT_EXACT : CLARKE_IS_REFUTED));
    clarke_certify_clear(&exact);
    clarke_certify_clear(&doubles);
    scene_clear(&c);
  }
}
END_TEST

/* Whom a tie's gradient goes to, no profile says of a file. It is asked, by doubles and without. */
START_TEST(tied)
{
  static const double x[] = {4, 4, -2, 8, 2, 3};

  for (int sieved = 0; sieved < 2; sieved++) {
    clarke_error err = {CLARKE_OK, ""};
    clarke_certify c;
    scene s;

    build_largest(&s, x, (const size_t[]){0, 0});
    clarke_certify_init(&c);
    c.g = &s.graph;
    c.constants = &s.constants;
    c.x = &s.x;
    c.profile = &s.profile;
    c.loss = &s.loss;
    c.scale = s.scale;
    c.by = s.by;
    c.trace = &s.trace;
    c.gradients = &s.gradients;
    c.trace_file = c.gradients_file = "drawn";
    c.sieved = sieved;
    ck_assert_int_eq(clarke_certify_run(&c, &err), CLARKE_EINPUT);
    ck_assert_msg(strstr(err.text, "no rule for ties of ReduceMax") != NULL, "%s", err.text);
    clarke_certify_clear(&c);
    scene_clear(&s);
  }
}
END_TEST

/* Below the bounds of a clamp, at them, between them, above. They are asked for, or they are not made. */
START_TEST(places)
{
  static const float x[SAMPLES] = {-2, -1, -0.5, 0, 2.4f, 2.5f, 3, -1};
  static const clarke_branch is[SAMPLES] = {0, CLARKE_AT(0), 1, 1, 1, CLARKE_AT(1), 2, CLARKE_AT(0)};
  const double numbers[SAMPLES] = {0};
  clarke_error err = {CLARKE_OK, ""};
  const clarke_step *step;
  clarke_certify c;
  clarke_sieve s;
  scene of;
  size_t i = 0;

  begin(&of, &(clamp){"Clip", "", "pytorch-2.13", -1, 2.5, 0, 0}, numbers, numbers);
  clarke_certify_init(&c);
  c.g = &of.graph;
  c.pass.piece = calloc(of.graph.n_steps, sizeof *c.pass.piece);
  while (of.graph.steps[i].kind != CLARKE_PIECEWISE)
    i++;
  step = &of.graph.steps[i];
  s = (clarke_sieve){.c = &c, .g = &of.graph, .n = SAMPLES};
  ck_assert_int_eq(clarke_sieve_place(&s, step, x, &err), CLARKE_OK);
  ck_assert_ptr_null(c.pass.piece[i]);
  c.branched = true;
  ck_assert_int_eq(clarke_sieve_place(&s, step, x, &err), CLARKE_OK);
  ck_assert_mem_eq(c.pass.piece[i], is, sizeof is);
  free(c.pass.piece[i]);
  free(c.pass.piece);
  scene_clear(&of);
}
END_TEST

/* o = a + relu(a), a = x w, w = 1: who looks for a kink is not the only one that reads a. Doubles decide all the same. */
START_TEST(read_twice)
{
  const long *column = SHAPE(SAMPLES, 1,);
  double x[SAMPLES], most[SAMPLES], out[SAMPLES], y[SAMPLES], back[SAMPLES], in[SAMPLES], of_w = 0;
  clarke_certify exact, doubles;
  clarke_model m;
  scene c;

  for (int j = 0; j < SAMPLES; j++) {
    x[j] = j % 2 == 0 ? j + 1 : -j;
    most[j] = fmax(x[j], 0);
    out[j] = x[j] + most[j];
    back[j] = j - 3.5;
    y[j] = out[j] - 4 * back[j]; /* 2 (o - y) / 8 */
    in[j] = x[j] > 0 ? 2 * back[j] : back[j];
    of_w += x[j] * in[j];
  }
  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, 1,));
  *model_floats(&m, "w", SHAPE(1, 1,)) = 1;
  model_node(&m, "MatMul", "x,w", "a");
  model_node(&m, "Relu", "a", "r");
  model_node(&m, "Add", "a,r", "o");
  model_output(&m, "o");
  c.x = tensor_of("x", CLARKE_F32, column);
  c.y = tensor_of("y", CLARKE_F32, column);
  memcpy(c.x.real, x, sizeof x);
  memcpy(c.y.real, y, sizeof y);
  scene_build(&c, &m, (clarke_loss){.kind = CLARKE_LOSS_MSE, .y = &c.y, .samples = SAMPLES}, "float32", 1);
  put(&c.trace, "gradient/a", column, in);
  put(&c.trace, "gradient/o", column, back);
  put(&c.trace, "gradient/r", column, back);
  put(&c.trace, "output/a", column, x);
  put(&c.trace, "output/o", column, out);
  put(&c.trace, "output/r", column, most);
  put(&c.gradients, "w", SHAPE(1, 1,), &of_w);
  scene_certify(&exact, &c, &c.trace, &c.gradients, false);
  scene_certify(&doubles, &c, &c.trace, &c.gradients, true);
  ck_assert(expect_never_better(&exact, &doubles));
  ck_assert_int_eq(clarke_certify_answer(&exact), CLARKE_BIT_EXACT);
  clarke_certify_clear(&exact);
  clarke_certify_clear(&doubles);
  scene_clear(&c);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("sieve kinks");

  tcase_add_loop_test(tests, at_bounds, 0, (int)(sizeof clamps / sizeof *clamps));
  tcase_add_test(tests, untold);
  tcase_add_test(tests, largest);
  tcase_add_test(tests, tied);
  tcase_add_test(tests, places);
  tcase_add_test(tests, read_twice);
  return run_tests();
}
