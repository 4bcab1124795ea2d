/* Sums like 1 + 2^-24 + 2^-80: the next float32 is nearest to them, and to the sum in doubles both are equally near. A record of 1 is
 * within the bound, and not bit-exact: doubles must not say that it is (sieve.h). */
#include "../network/models.h"
#include "never_better.h"

#include "network/build.h"

#define HALF 0x1p-24
#define TINY 0x1p-80

enum { MOST = 3 };

/* a = x w + b, one output of n samples; g its gradient behind 2 (a - y) / n; the parameters' gradients. */
typedef struct {
  const char *what;
  size_t n, features;
  double x[MOST], w[MOST], b, y[MOST], a[MOST], g[MOST], gw[MOST], gb;
  clarke_part part;
  const char *tie; /* the certificate's name */
} step;

static const step steps[] = {
  {"the bias among the products", 1, 2, {1, HALF}, {1, 1}, TINY, {0.5}, {1}, {1}, {1, HALF}, 1, CLARKE_OUTPUT, "a"},
  {"the bias alone to be seen", 1, 2, {1, TINY}, {1, 1}, HALF, {0.5}, {1}, {1}, {1, TINY}, 1, CLARKE_OUTPUT, "a"},
  {"the bias's gradient", 3, 1, {0, 0, 0}, {0}, 0, {-1.5, -1.5 * HALF, -1.5 * TINY}, {0}, {1, HALF, TINY}, {0}, 1, CLARKE_PARAMETER, "b"},
  {"the weight's gradient", 3, 1, {1, 1, 1}, {0}, 0, {-1.5, -1.5 * HALF, -1.5 * TINY}, {0}, {1, HALF, TINY}, {1}, 1, CLARKE_PARAMETER, "w"},
};

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

typedef struct {
  clarke_graph graph;
  clarke_constants constants;
  clarke_profile profile;
  clarke_loss loss;
  clarke_tensor x, y;
  clarke_tensors trace, gradients;
  mpq_t scale;
} scene;

static void
build(scene *c, const step *s)
{
  const long n = (long)s->n, features = (long)s->features;
  clarke_error err = {CLARKE_OK, ""};
  clarke_model m;

  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, features,));
  memcpy(model_floats(&m, "w", SHAPE(features, 1,)), s->w, s->features * sizeof *s->w);
  *model_floats(&m, "b", SHAPE(1,)) = s->b;
  model_node(&m, "Gemm", "x,w,b", "a");
  model_output(&m, "a");
  c->x = tensor_of("x", CLARKE_F32, SHAPE(n, features,));
  memcpy(c->x.real, s->x, s->n * s->features * sizeof *s->x);
  c->y = tensor_of("y", CLARKE_F32, SHAPE(n, 1,));
  memcpy(c->y.real, s->y, s->n * sizeof *s->y);
  clarke_graph_init(&c->graph);
  ck_assert_msg(clarke_graph_build(&c->graph, &m, &c->x, &err) == CLARKE_OK, "%s", err.text);
  ck_assert_int_eq(clarke_graph_wrt(&c->graph, NULL, 0, &err), CLARKE_OK);
  ck_assert_int_eq(clarke_constants_init(&c->constants, &c->graph, &err), CLARKE_OK);
  clarke_profile_init(&c->profile);
  ck_assert_int_eq(clarke_profile_load(&c->profile, "pytorch-2.13", &err), CLARKE_OK);
  c->loss = (clarke_loss){CLARKE_LOSS_MSE, &c->y, s->n};
  mpq_init(c->scale);
  mpq_set_ui(c->scale, 1, 1);
  clarke_tensors_init(&c->trace);
  clarke_tensors_init(&c->gradients);
  put(&c->trace, "gradient/a", SHAPE(n, 1,), s->g);
  put(&c->trace, "output/a", SHAPE(n, 1,), s->a);
  put(&c->gradients, "b", SHAPE(1,), &s->gb);
  put(&c->gradients, "w", SHAPE(features, 1,), s->gw);
  clarke_model_clear(&m);
}

static void
clear_scene(scene *c)
{
  clarke_constants_clear(&c->constants);
  clarke_graph_clear(&c->graph);
  clarke_profile_clear(&c->profile);
  clarke_tensors_clear(&c->trace);
  clarke_tensors_clear(&c->gradients);
  clarke_tensor_clear(&c->x);
  clarke_tensor_clear(&c->y);
  mpq_clear(c->scale);
}

static void
certify(clarke_certify *c, scene *s, bool sieved)
{
  clarke_error err = {CLARKE_OK, ""};

  clarke_certify_init(c);
  c->g = &s->graph;
  c->constants = &s->constants;
  c->x = &s->x;
  c->profile = &s->profile;
  c->loss = &s->loss;
  c->scale = s->scale;
  ck_assert(clarke_rounding_add_type(&c->by, "float32"));
  c->trace = &s->trace;
  c->gradients = &s->gradients;
  c->trace_file = c->gradients_file = "written";
  c->sieved = sieved;
  ck_assert_msg(clarke_certify_run(c, &err) == CLARKE_OK, "%s", err.text);
}

START_TEST(ties)
{
  const step *s = &steps[_i];
  clarke_certify exact, doubles;
  bool met = false;
  scene c;

  build(&c, s);
  certify(&exact, &c, false);
  certify(&doubles, &c, true);
  for (size_t i = 0; i < exact.n; i++)
    if (exact.certificate[i].part == s->part && strcmp(exact.certificate[i].name, s->tie) == 0) {
      ck_assert_msg(exact.certificate[i].certainty == CLARKE_WITHIN_BOUND, "%s", s->what);
      met = true;
    }
  ck_assert(met);
  ck_assert(clarke_certify_answer(&exact) == CLARKE_WITHIN_BOUND);
  expect_never_better(&exact, &doubles);
  clarke_certify_clear(&exact);
  clarke_certify_clear(&doubles);
  clear_scene(&c);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("sieve ties");

  tcase_add_loop_test(tests, ties, 0, (int)(sizeof steps / sizeof *steps));
  return run_tests();
}
