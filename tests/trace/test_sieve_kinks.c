/* Arguments that are exactly at a kink other than 0, or at both bounds of a clamp: the gradient there is the profile's number times that
 * behind it. By doubles, too (sieve.h): the right record is bit-exact, and one with another number at a bound is never passed. */
#include "scene.h"
#include "never_better.h"

#include <math.h>

enum { SAMPLES = 8 };

/* c = clamp(a, low, high) of a = x w, o = c v, w = v = 1; the profile's numbers at the two kinks. */
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
put(clarke_tensors *ts, const char *name, const long *shape, const double *numbers)
{
  clarke_tensor *t;

  ts->tensor = realloc(ts->tensor, (ts->n + 1) * sizeof *ts->tensor);
  t = &ts->tensor[ts->n++];
  *t = tensor_of(name, CLARKE_F32, shape);
  for (size_t e = 0; e < t->count; e++) {
    ck_assert((double)(float)numbers[e] == numbers[e]);
    t->real[e] = numbers[e];
  }
}

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
  scene_build(c, &m, (clarke_loss){CLARKE_LOSS_MSE, &c->y, SAMPLES}, "float32", 1);
  clarke_profile_clear(&c->profile);
  clarke_profile_init(&c->profile);
  ck_assert_int_eq(clarke_profile_load(&c->profile, as->profile, &err), CLARKE_OK);
}

/* A step whose numbers are all exact. */
static void
build(scene *c, const clamp *as, const change *other)
{
  const double x[SAMPLES] = {as->low, as->high, as->low - 1, as->high + 1, (as->low + as->high) / 2, as->low, as->high, 0.0625};
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

int
main(void)
{
  TCase *tests = tests_of("sieve kinks");

  tcase_add_loop_test(tests, at_bounds, 0, (int)(sizeof clamps / sizeof *clamps));
  return run_tests();
}
