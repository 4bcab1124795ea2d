/* Bounds at functions with a domain, and of normalizations both ways, beside what moved arguments make of them. */
#include "scene.h"

#include "../ok.h"
#include "../suites.h"

#include <math.h>

/* One operator of one input, run and bounded. */
typedef struct {
  scene s;
  clarke_certify c;
  const clarke_step *step;
  size_t n; /* entries */
} bounded;

static void
run(bounded *b, clarke_model *m, clarke_step_kind kind)
{
  model_output(m, "y");
  clarke_tensor_init(&b->s.y);
  scene_build(&b->s, m, (clarke_loss){.kind = CLARKE_LOSS_SUM, .samples = 1}, "float32", 1);
  clarke_certify_init(&b->c);
  b->c.g = &b->s.graph;
  b->c.constants = &b->s.constants;
  b->c.x = &b->s.x;
  b->c.profile = &b->s.profile;
  b->c.loss = &b->s.loss;
  b->c.by = b->s.by;
  b->c.recorded = calloc(b->s.graph.n_values + 1, sizeof *b->c.recorded);
  OK(clarke_certify_begin(&b->c, &error));
  b->step = NULL;
  for (size_t i = 0; i < b->s.graph.n_steps; i++) {
    OK(clarke_forward_next(&b->c.pass, i, &error));
    OK(clarke_roundoff_step(&b->c.rounded, i, &error));
    if (b->s.graph.steps[i].kind == kind)
      b->step = &b->s.graph.steps[i];
  }
  ck_assert_ptr_nonnull(b->step);
  ck_assert_uint_eq(b->step->in[0].value, b->s.graph.input);
  b->n = b->s.graph.values[b->step->out].count * b->c.pass.n;
}

static void
end(bounded *b)
{
  clarke_certify_clear(&b->c);
  scene_clear(&b->s);
}

/* --- functions with a domain --- */

static double
inverse(double x)
{
  return 1 / x;
}

static double
inverse_slope(double x)
{
  return -1 / (x * x);
}

static double
root_slope(double x)
{
  return 0.5 / sqrt(x);
}

static const struct {
  const char *op;
  double (*f)(double), (*slope)(double);
} functions[3] = {{"Reciprocal", inverse, inverse_slope}, {"Sqrt", sqrt, root_slope}, {"Log", log, inverse}};

static double
farthest(double (*f)(double), double x, double off)
{
  return fmax(fabs(f(x + off) - f(x)), fabs(f(x - off) - f(x)));
}

START_TEST(at_a_border)
{
  static const double at[] = {1, 0x1p-20, 1000, 3.5};
  clarke_model m;
  bounded b;

  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(1, 4, ));
  model_node(&m, functions[_i].op, "x", "y");
  b.s.x = tensor_of("x", CLARKE_F32, SHAPE(1, 4, ));
  memcpy(b.s.x.real, at, sizeof at);
  run(&b, &m, CLARKE_ANALYTIC);
  for (size_t e = 0; e < 4; e++) {
    double *error_x = &b.c.rounded.error[b.step->in[0].value][e], *error_y = &b.c.rounded.error[b.step->out][e];
    const double slope = fabs(functions[_i].slope(at[e]));

    *error_x = 0;
    ck_assert(clarke_roundoff_inside(&b.c.rounded, b.step, e) == 0);
    for (double part = 0x1p-20; part < 0.5; part *= 16) {
      const double off = at[e] * part, moved = farthest(functions[_i].f, at[e], off), turned = farthest(functions[_i].slope, at[e], off);
      double bound;

      *error_x = off;
      bound = clarke_roundoff_inside(&b.c.rounded, b.step, e);
      ck_assert(bound >= moved * (1 - 1e-8));
      ck_assert(bound <= (_i == 1 ? 2.5 : 1.2) * moved / (1 - part)); /* a root's is half as much, which is not used */
      *error_y = bound;
      bound = clarke_roundoff_inside_slope(&b.c.rounded, b.step, e, slope);
      ck_assert(bound >= turned * (1 - 1e-8));
      ck_assert(bound <= 6 * turned / ((1 - part) * (1 - part)) + slope * 1e-4);
    }
    *error_x = at[e];
    ck_assert(isinf(clarke_roundoff_inside(&b.c.rounded, b.step, e)) && isinf(clarke_roundoff_inside_slope(&b.c.rounded, b.step, e, slope)));
  }
  end(&b);
}
END_TEST

/* --- normalizations --- */

enum { GROUP = 6, COLUMNS = 3 };

/* (x - mean) / root of one sample, and (g - mean g - y mean (g y)) / root. */
static void
normalize(double *y, double *back, const double *x, const double *g, double epsilon)
{
  double mean = 0, variance = 0, mean_g = 0, product = 0, by;

  for (size_t i = 0; i < GROUP; i++)
    mean += x[i] / GROUP;
  for (size_t i = 0; i < GROUP; i++)
    variance += (x[i] - mean) * (x[i] - mean) / GROUP;
  by = sqrt(variance + epsilon);
  for (size_t i = 0; i < GROUP; i++) {
    y[i] = (x[i] - mean) / by;
    mean_g += g[i] / GROUP;
    product += g[i] * y[i] / GROUP;
  }
  for (size_t i = 0; i < GROUP; i++)
    back[i] = (g[i] - mean_g - y[i] * product) / by;
}

/* Of a sample's GROUP entries, COLUMNS of them. */
static void
run_normalization(bounded *b, uint64_t *state)
{
  clarke_model m;
  double *one;

  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(COLUMNS, GROUP, ));
  one = model_floats(&m, "one", SHAPE(GROUP, ));
  for (size_t i = 0; i < GROUP; i++)
    one[i] = 1;
  attr_int(model_node(&m, "LayerNormalization", "x,one", "y"), "axis", 1);
  b->s.x = tensor_of("x", CLARKE_F32, SHAPE(COLUMNS, GROUP, ));
  for (size_t k = 0; k < COLUMNS * GROUP; k++)
    b->s.x.real[k] = (double)draw_between(state, -64, 64) / 16;
  run(b, &m, CLARKE_NORMALIZE);
}

/* One recorded output that is off, whose own gradient is 0: the mean of g y meets it alone. */
START_TEST(one_output_is_off)
{
  double size[GROUP * COLUMNS], none[GROUP * COLUMNS] = {0}, back_off[GROUP * COLUMNS], mass[GROUP * COLUMNS], y[GROUP], back[GROUP];
  double g[GROUP], product = 0, variance = 0, mean = 0;
  uint64_t state = 60;
  bounded b;

  run_normalization(&b, &state);
  for (size_t i = 0; i < GROUP; i++)
    g[i] = i == 2 ? 0 : 1 + (double)i;
  normalize(y, back, b.s.x.real, g, mpq_get_d(b.step->epsilon)); /* the first sample */
  for (size_t e = 0; e < GROUP * COLUMNS; e++) {
    size[e] = g[e / COLUMNS];
    b.c.rounded.error[b.s.graph.input][e] = b.c.rounded.error[b.step->out][e] = 0;
  }
  for (size_t i = 0; i < GROUP; i++) {
    product += g[i] * fabs(y[i]) / GROUP;
    mean += b.s.x.real[i] / GROUP;
  }
  for (size_t i = 0; i < GROUP; i++)
    variance += (b.s.x.real[i] - mean) * (b.s.x.real[i] - mean) / GROUP;
  b.c.rounded.error[b.step->out][2 * COLUMNS] = 0.5;
  ck_assert(clarke_roundoff_normalize_back(back_off, mass, &b.c.rounded, b.step, size, none));
  ck_assert(back_off[2 * COLUMNS] >= 0.5 * product / sqrt(variance) * (1 - 1e-3));
  ck_assert(back_off[2 * COLUMNS] <= 0.5 * product / sqrt(variance) * (1 + 1e-3) && back_off[0] < 1e-3 && back_off[1] < 1e-3);
  end(&b);
}
END_TEST

/* Arguments that may be farther from their mean, all by one part: the root is, and the gradient by as much less. */
START_TEST(the_root_is_off)
{
  double size[GROUP * COLUMNS], none[GROUP * COLUMNS] = {0}, back_off[GROUP * COLUMNS], mass[GROUP * COLUMNS], y[GROUP], back[GROUP];
  double x2[GROUP], back2[GROUP], mean = 0;
  const double g[GROUP] = {1, -2, 3, 0.5, -1, 2}, part = 0x1p-6;
  uint64_t state = 61;
  bounded b;

  run_normalization(&b, &state);
  for (size_t i = 0; i < GROUP; i++)
    mean += b.s.x.real[i] / GROUP;
  for (size_t e = 0; e < GROUP * COLUMNS; e++) {
    size[e] = fabs(g[e / COLUMNS]);
    b.c.rounded.error[b.s.graph.input][e] = e % COLUMNS == 0 ? part * fabs(b.s.x.real[e / COLUMNS] - mean) : 0;
    b.c.rounded.error[b.step->out][e] = 0; /* as if it were recorded */
  }
  for (size_t i = 0; i < GROUP; i++)
    x2[i] = mean + (b.s.x.real[i] - mean) * (1 + part);
  normalize(y, back, b.s.x.real, g, mpq_get_d(b.step->epsilon));
  normalize(y, back2, x2, g, mpq_get_d(b.step->epsilon));
  ck_assert(clarke_roundoff_normalize_back(back_off, mass, &b.c.rounded, b.step, size, none));
  for (size_t i = 0; i < GROUP; i++)
    ck_assert(back_off[i * COLUMNS] >= fabs(back2[i] - back[i]) && back_off[i * COLUMNS + 1] < 1e-3);
  end(&b);
}
END_TEST

START_TEST(normalizations)
{
  const double moved = ldexp(1, -8 - 4 * _i);
  double g[COLUMNS][GROUP], x[COLUMNS][GROUP], size[GROUP * COLUMNS], size_error[GROUP * COLUMNS], off[GROUP * COLUMNS],
    wide[GROUP * COLUMNS], back_off[GROUP * COLUMNS], mass[GROUP * COLUMNS];
  uint64_t state = 50 + (uint64_t)_i;
  bounded b;
  double most = 0, epsilon;

  run_normalization(&b, &state);
  for (size_t k = 0; k < COLUMNS * GROUP; k++) {
    x[k / GROUP][k % GROUP] = b.s.x.real[k];
    g[k / GROUP][k % GROUP] = (double)draw_between(&state, -64, 64) / 32;
  }
  epsilon = mpq_get_d(b.step->epsilon);
  for (size_t e = 0; e < GROUP * COLUMNS; e++) {
    b.c.rounded.error[b.s.graph.input][e] = moved;
    size[e] = fabs(g[e % COLUMNS][e / COLUMNS]);
    size_error[e] = moved / 4;
  }
  ck_assert(clarke_roundoff_normalize(off, wide, &b.c.rounded, b.step));
  memcpy(b.c.rounded.error[b.step->out], off, sizeof off);
  memcpy(b.c.rounded.wide[b.step->out], wide, sizeof wide);
  ck_assert(clarke_roundoff_normalize_back(back_off, mass, &b.c.rounded, b.step, size, size_error));
  for (size_t j = 0; j < COLUMNS; j++) {
    double y[GROUP], back[GROUP], y2[GROUP], back2[GROUP], x2[GROUP], g2[GROUP];

    normalize(y, back, x[j], g[j], epsilon);
    for (size_t draws = 0; draws < 64; draws++) {
      for (size_t i = 0; i < GROUP; i++) {
        x2[i] = x[j][i] + (draws >> i & 1 ? moved : -moved); /* every corner */
        g2[i] = g[j][i] + (draw_below(&state, 2) ? moved / 4 : -moved / 4);
      }
      normalize(y2, back2, x2, g2, epsilon);
      for (size_t i = 0; i < GROUP; i++) {
        const size_t e = i * COLUMNS + j;

        ck_assert(fabs(y2[i] - y[i]) <= off[e] && fabs(back2[i] - back[i]) <= back_off[e]);
        ck_assert(wide[e] >= fabs(y[i]) && mass[e] >= fabs(back[i]));
        most = fmax(most, fmax(fabs(y2[i] - y[i]) / off[e], fabs(back2[i] - back[i]) / back_off[e]));
      }
    }
  }
  ck_assert(most > 0.05); /* the bound is of the same size as what happens */
  b.c.rounded.error[b.s.graph.input][0] = INFINITY;
  ck_assert(clarke_roundoff_normalize(off, wide, &b.c.rounded, b.step));
  ck_assert(isinf(off[0]) && isinf(off[COLUMNS]) && isfinite(off[1])); /* its group's entries, and no other's */
  end(&b);
}
END_TEST

MODULE(rounding_parts)
{
  TCase *tests = tests_of("rounding parts");

  tcase_add_loop_test(tests, at_a_border, 0, 3);
  tcase_add_loop_test(tests, normalizations, 0, 3);
  tcase_add_test(tests, one_output_is_off);
  tcase_add_test(tests, the_root_is_off);
  return all_tests;
}
