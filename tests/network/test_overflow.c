/* Samples that overflow doubles lie beside others: what the filter knows of those must not be lost with them. */
#include "compared.h"

#define WIDE 20 /* inner products: the bound of the third sample below is large beside one rounding */

static const double u = 0x1p-53;

static void
fill(clarke_model *m, const char *name, double value)
{
  model_floats(m, name, SHAPE(1,))[0] = value;
}

/* Relu(((x W + 1) - 1) - 3/2 u): 0 at the first sample, where x W is 3/2 u, but doubles say u / 2. The second overflows, and the third is
 * large. */
START_TEST(one_overflows)
{
  static const size_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  const size_t *order = orders[_i];
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(3, WIDE,));
  size_t filtered = 0, total = 0;
  clarke_model m;
  double *w;

  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, WIDE,));
  w = model_floats(&m, "W", SHAPE(WIDE, 1,));
  w[0] = 1;
  w[1] = 1e10;
  fill(&m, "b1", 1);
  fill(&m, "b2", -1);
  fill(&m, "b3", -3 * u / 2);
  model_node(&m, "MatMul", "x,W", "p");
  model_node(&m, "Add", "p,b1", "q");
  model_node(&m, "Add", "q,b2", "r");
  model_node(&m, "Add", "r,b3", "s");
  model_node(&m, "Relu", "s", "y");
  model_output(&m, "y");
  x.real[order[0] * WIDE] = 3 * u / 2;
  x.real[order[1] * WIDE + 1] = 1e300;
  x.real[order[2] * WIDE] = 1e30;
  compare_with_exact(&m, &x, &filtered, &total);
  ck_assert_uint_eq(total, 3);
  clarke_tensor_clear(&x);
  clarke_model_clear(&m);
}
END_TEST

/* Mostly small numbers, some at which roundings show, and some that overflow. */
static double
drawn(uint64_t *state)
{
  static const double some[] = {0, 1, -1, 0x1.8p-53, -0x1.8p-53, 0x1p-53, 1e30, -1e30, 1e300, -1e300, 1e-300, 0x1.8p-54};

  return draw_below(state, 2) == 0 ? small_number(state) : some[draw_below(state, sizeof some / sizeof *some)];
}

static void
draw_floats(clarke_model *m, const char *name, const long *shape, size_t count, uint64_t *state)
{
  double *to = model_floats(m, name, shape);

  for (size_t e = 0; e < count; e++)
    to[e] = drawn(state);
}

START_TEST(some_overflow)
{
  size_t filtered = 0, total = 0;
  uint64_t state = 1000 + (uint64_t)_i;

  for (int round = 0; round < 50; round++) {
    clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(4, 1, 2, 3,));
    clarke_model m;

    for (size_t e = 0; e < x.count; e++)
      x.real[e] = drawn(&state);
    model_begin(&m, 17);
    model_input(&m, "x", SHAPE(-1, 1, 2, 3,));
    draw_floats(&m, "W", SHAPE(2, 1, 2, 1,), 4, &state);
    draw_floats(&m, "b", SHAPE(2,), 2, &state);
    draw_floats(&m, "c", SHAPE(2, 1, 1,), 2, &state);
    draw_floats(&m, "d", SHAPE(2, 1, 3,), 6, &state);
    draw_floats(&m, "V", SHAPE(1, 2, 1, 2,), 4, &state);
    model_node(&m, "Conv", "x,W,b", "p");
    model_node(&m, "Add", "p,c", "q");
    model_node(&m, "Add", "q,d", "r");
    model_node(&m, "Relu", "r", "s");
    model_node(&m, "Conv", "s,V", "t");
    model_node(&m, "Abs", "t", "y");
    model_output(&m, "y");
    compare_with_exact(&m, &x, &filtered, &total);
    clarke_tensor_clear(&x);
    clarke_model_clear(&m);
  }
  ck_assert_uint_gt(filtered, 0);
  ck_assert_uint_lt(filtered, total);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("overflow");

  tcase_add_loop_test(tests, one_overflows, 0, 6);
  tcase_add_loop_test(tests, some_overflow, 0, 4);
  return run_tests();
}
