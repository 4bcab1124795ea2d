/* Sums like 1 + 2^-24 + 2^-80: the next float32 is nearest to them, and to the sum in doubles both are equally near. A record of 1 is
 * within the bound, and not bit-exact: doubles must not say that it is (sieve.h). */
#include "scene.h"
#include "never_better.h"


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
build(scene *c, const step *s)
{
  const long n = (long)s->n, features = (long)s->features;
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
  scene_build(c, &m, (clarke_loss){.kind = CLARKE_LOSS_MSE, .y = &c->y, .samples = s->n}, "float32", 1);
  put(&c->trace, "gradient/a", SHAPE(n, 1,), s->g);
  put(&c->trace, "output/a", SHAPE(n, 1,), s->a);
  put(&c->gradients, "b", SHAPE(1,), &s->gb);
  put(&c->gradients, "w", SHAPE(features, 1,), s->gw);
}

START_TEST(ties)
{
  const step *s = &steps[_i];
  clarke_certify exact, doubles;
  bool met = false;
  scene c;

  build(&c, s);
  scene_certify(&exact, &c, &c.trace, &c.gradients, false);
  scene_certify(&doubles, &c, &c.trace, &c.gradients, true);
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
  scene_clear(&c);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("sieve ties");

  tcase_add_loop_test(tests, ties, 0, (int)(sizeof steps / sizeof *steps));
  return run_tests();
}
