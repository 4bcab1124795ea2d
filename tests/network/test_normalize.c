/* Normalizations against the naive evaluator: values, tangents and reverse mode, exactly where the roots
 * are rational, else within their enclosures; the filter against the exact pass, at its own bound too; and
 * identity against its definition. */
#include "machine.h"
#include "normalized.h"
#include "compared.h"
#include "network/derive/tangent.h"

/* --- exactly ------------------------------------------------------------------------------------- */

/* Numbers that are a mean, and so much more and less: 1, 5/16 or 0. With epsilon 9/16 the roots are 5/4,
 * 13/16, 3/4. */
static void
fill_balanced(double *v, size_t n, size_t stride, uint64_t *state)
{
  static const double away[] = {1, 0.3125, 0};
  double mean = (double)draw_between(state, -3, 3), by = away[draw_below(state, 3)];
  bool first = draw_below(state, 2);

  for (size_t i = 0; i < n; i++)
    v[i * stride] = mean + ((i % 2 == 0) == first ? by : -by);
}

enum { SAMPLES = 4, CHANNELS = 2, SPACE = 6 };

/* x is (4, 2, 6); its groups are balanced. */
static void
draw_squares(clarke_model *m, clarke_tensor *x, uint64_t *state, size_t kind)
{
  static const char *const ops[] = {"LayerNormalization", "LayerNormalization", "InstanceNormalization",
                                    "GroupNormalization", "BatchNormalization"};
  long scales = kind == 3 ? 1 : CHANNELS;
  clarke_model_node *node;

  model_begin(m, 18);
  model_input(m, "x", SHAPE(-1, CHANNELS, SPACE,));
  *x = tensor_of("x", CLARKE_F64, SHAPE(SAMPLES, CHANNELS, SPACE,));
  for (size_t j = 0; j < SAMPLES * CHANNELS && kind != 4; j++)
    fill_balanced(x->real + j * SPACE, SPACE, 1, state);
  for (size_t j = 0; j < SAMPLES && (kind == 0 || kind == 3); j++) /* both channels are one group */
    memcpy(x->real + (2 * j + 1) * SPACE, x->real + 2 * j * SPACE, SPACE * sizeof *x->real);
  for (size_t c = 0; c < CHANNELS && kind == 4; c++) {
    fill_balanced(x->real + c * SPACE, SPACE, 1, state);
    for (size_t j = 1; j < SAMPLES; j++)
      memcpy(x->real + (2 * j + c) * SPACE, x->real + c * SPACE, SPACE * sizeof *x->real);
  }
  for (size_t i = 0; i < 2; i++) {
    const char *name = i == 0 ? "scale" : "b";
    double *v = kind == 0   ? model_floats(m, name, SHAPE(CHANNELS, SPACE,))
                : kind == 1 ? model_floats(m, name, SHAPE(SPACE,))
                            : model_floats(m, name, SHAPE(scales,));

    for (size_t e = 0; e < m->tensors[m->n_tensors - 1].count; e++)
      v[e] = (double)draw_between(state, -3, 3);
  }
  model_floats(m, "mean", SHAPE(CHANNELS,));
  model_floats(m, "var", SHAPE(CHANNELS,));
  node = model_node(m, ops[kind], kind == 4 ? "x,scale,b,mean,var" : "x,scale,b", "n");
  attr_float(node, "epsilon", 0.5625);
  if (kind < 2)
    attr_int(node, "axis", kind == 0 ? 1 : 2);
  if (kind == 3)
    attr_int(node, "num_groups", 1);
  if (kind == 4)
    attr_int(node, "training_mode", 1);
  node = model_node(m, "Relu", "n", "y");
  model_output(m, "y");
}

START_TEST(rational_roots_are_exact)
{
  uint64_t state = 81;

  for (size_t i = 0; i < draw_count(100); i++) {
    naive_run r = {.proxy = right_slope};
    clarke_model m;
    clarke_tensor x;
    machine k;
    double radius;
    mpq_t off;

    mpq_init(off);
    draw_squares(&m, &x, &state, i % 5);
    machine_begin(&k, &m, &x, profile_with("first"), draw_below(&state, 2));
    naive_begin(&r, &m, &x);
    draw_direction(&k, &r, &state);
    naive_go(&r);
    OK(clarke_tangent_run(k.tangent, &k.pass, &k.slopes, k.d, &error));
    ck_assert_uint_eq(check_values(&k, &r, i), 3);
    gradient_difference(off, &radius, &k, &r);
    ck_assert_msg(mpq_sgn(off) == 0 && radius == 0, "network %zu: the gradient is off", i);
    machine_end(&k);
    naive_clear(&r);
    clarke_tensor_clear(&x);
    clarke_model_clear(&m);
    mpq_clear(off);
  }
}
END_TEST

/* --- enclosed ------------------------------------------------------------------------------------- */

/* Quarters: few coincidences, but kinks are met. */
static double
quarter(uint64_t *state)
{
  return (double)draw_between(state, -9, 9) / 4;
}

START_TEST(values_tangents_and_gradients)
{
  uint64_t state = 82;
  size_t checked = 0, open = 0, touched = 0;
  double widest = 0;

  for (size_t i = 0; i < draw_count(600); i++) {
    naive_run r = {.proxy = right_slope};
    growing grown;
    clarke_tensor x;
    machine k;
    double radius;
    mpq_t off;

    mpq_init(off);
    grow_normalized(&grown, &state, i % 2 ? quarter : small_number);
    x = grow_batch(&grown, 1 + draw_below(&state, 5));
    machine_begin(&k, &grown.m, &x, profile_with("first"), draw_below(&state, 2));
    open += k.pass.open > 0;
    if (k.pass.open == 0 && k.replay.open == 0) {
      naive_begin(&r, &grown.m, &x);
      draw_direction(&k, &r, &state);
      naive_go(&r);
      OK(clarke_tangent_run(k.tangent, &k.pass, &k.slopes, k.d, &error));
      checked += check_enclosures(&k, &r, i, &widest);
      gradient_difference(off, &radius, &k, &r);
      ck_assert_msg(fabs(mpq_get_d(off)) <= radius + 0x1p-180, "network %zu: the gradient is off by %g",
                    i, mpq_get_d(off));
      touched += k.replay.n_touches > 0;
      naive_clear(&r);
    }
    machine_end(&k);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
    mpq_clear(off);
  }
  printf("normalized: %zu activations, widest %g; %zu networks open, %zu touched\n", checked, widest,
         open, touched);
  ck_assert_double_lt(widest, 0x1p-30);
  ck_assert_uint_lt(open, 200);
  ck_assert_uint_gt(touched, draw_count(100));
}
END_TEST

/* --- the filter ------------------------------------------------------------------------------------ */

static double
moderate_double(uint64_t *state)
{
  return double_within(state, -300, 300);
}

START_TEST(filter_on_normalized_networks)
{
  static double (*const number[])(uint64_t *state) = {small_number, quarter, full_double, moderate_double};
  uint64_t state = 83;

  for (size_t kind = 0; kind < 4; kind++) {
    size_t filtered = 0, total = 0;

    for (size_t i = 0; i < draw_count(75); i++) {
      growing grown;
      clarke_tensor x;

      grow_normalized(&grown, &state, number[kind]);
      x = grow_batch(&grown, 1 + draw_below(&state, kind == 3 ? 4 : 40));
      compare_with_exact(&grown.m, &x, &filtered, &total);
      clarke_tensor_clear(&x);
      clarke_model_clear(&grown.m);
    }
    printf("normalized: %zu of %zu entries decided in floating point\n", filtered, total);
    ck_assert_uint_gt(filtered, total / 8);
    ck_assert_uint_lt(filtered, total);
  }
}
END_TEST

/* A normalization of numbers about `middle`, then one sum that takes an entry off, up to `gap` of it. */
static void
draw_cancellation(clarke_model *m, clarke_tensor *x, uint64_t *state, size_t kind, double gap)
{
  enum { WIDTH = 12, ROWS = 3 };
  static const char *const ops[] = {"LayerNormalization", "BatchNormalization"};
  double middle = ldexp(full_double(state), (int)draw_between(state, -3, 20)), *scale, *b;
  double spread = ldexp(1, (int)draw_between(state, -12, 4));
  long double mean[WIDTH] = {0}, var[WIDTH] = {0};
  size_t along = kind == 0 ? WIDTH : ROWS, across = kind == 0 ? ROWS : WIDTH;
  clarke_model_node *node;

  model_begin(m, 17);
  model_input(m, "x", SHAPE(-1, WIDTH,));
  *x = tensor_of("x", CLARKE_F64, SHAPE(ROWS, WIDTH,));
  for (size_t e = 0; e < ROWS * WIDTH; e++)
    x->real[e] = middle + spread * full_double(state);
  for (size_t e = 0; e < ROWS * WIDTH; e++)
    mean[kind == 0 ? e / WIDTH : e % WIDTH] += (long double)x->real[e] / (long double)along;
  for (size_t e = 0; e < ROWS * WIDTH; e++) {
    size_t g = kind == 0 ? e / WIDTH : e % WIDTH;

    var[g] += (x->real[e] - mean[g]) * (x->real[e] - mean[g]) / (long double)along;
  }
  ck_assert_uint_le(across, WIDTH);
  scale = model_floats(m, "scale", SHAPE(WIDTH,));
  b = model_floats(m, "b", SHAPE(WIDTH,));
  model_floats(m, "mean", SHAPE(WIDTH,));
  model_floats(m, "var", SHAPE(WIDTH,));
  for (size_t c = 0; c < WIDTH; c++) {
    size_t e = draw_below(state, ROWS) * WIDTH + c, g = kind == 0 ? e / WIDTH : c;
    long double y = (x->real[e] - mean[g]) / sqrtl(var[g] + 0x1p-10L);

    scale[c] = full_double(state);
    b[c] = (double)(-y * scale[c] * (1 + (long double)gap));
    for (size_t k = draw_below(state, 3); k > 0 && gap == 0; k--)
      b[c] = nextafter(b[c], draw_below(state, 2) ? INFINITY : -INFINITY);
  }
  node = model_node(m, ops[kind], kind == 0 ? "x,scale,b" : "x,scale,b,mean,var", "n");
  attr_float(node, "epsilon", 0x1p-10);
  if (kind == 1)
    attr_int(node, "training_mode", 1);
  model_node(m, "Relu", "n", "y");
  model_output(m, "y");
}

START_TEST(filter_on_cancellations)
{
  uint64_t state = 84;
  size_t filtered = 0, total = 0;

  for (size_t i = 0; i < draw_count(600); i++) {
    clarke_model m;
    clarke_tensor x;

    draw_cancellation(&m, &x, &state, i % 2, 0);
    compare_with_exact(&m, &x, &filtered, &total);
    clarke_tensor_clear(&x);
    clarke_model_clear(&m);
  }
  printf("cancellations: %zu of %zu entries decided in floating point\n", filtered, total);
  ck_assert_uint_gt(filtered, total / 8);
  ck_assert_uint_lt(filtered, total);
}
END_TEST

/* Margins around the bound of the filter, from far below it to far above. */
START_TEST(filter_at_its_bound)
{
  uint64_t state = 85;
  size_t filtered = 0, total = 0;

  for (size_t i = 0; i < draw_count(600); i++) {
    double gap = ldexp(draw_below(&state, 2) ? 1 : -1, (int)draw_between(&state, -56, -20));
    clarke_model m;
    clarke_tensor x;

    draw_cancellation(&m, &x, &state, i % 2, gap);
    compare_with_exact(&m, &x, &filtered, &total);
    clarke_tensor_clear(&x);
    clarke_model_clear(&m);
  }
  printf("at the bound: %zu of %zu entries decided in floating point\n", filtered, total);
  ck_assert_uint_gt(filtered, total / 4);
  ck_assert_uint_lt(filtered, total);
}
END_TEST

/* The normal form of entry i of n numbers, with epsilon 2^-10. */
static long double
normal_form(const long double *v, size_t n, size_t i)
{
  long double mean = 0, var = 0;

  for (size_t k = 0; k < n; k++)
    mean += v[k] / (long double)n;
  for (size_t k = 0; k < n; k++)
    var += (v[k] - mean) * (v[k] - mean) / (long double)n;
  return (v[i] - mean) / sqrtl(var + 0x1p-10L);
}

enum { CARRIED = 400, LOST = 4 };

/* One feature is a product whose terms cancel, off by far more than the others: z holds the true ones. The
 * product by 1 before it is exact, but has a bound, which goes the way of the weights. */
static void
draw_product(clarke_model *m, clarke_tensor *x, long double *z, uint64_t *state)
{
  double *w = model_floats(m, "w", SHAPE(2, CARRIED,));

  for (size_t e = 0; e < 2; e++)
    x->real[e] = 1 + fabs(full_double(state));
  for (size_t k = 0; k < CARRIED; k++) {
    w[k] = k == 0 ? 0x1p30 * (1 + fabs(full_double(state))) : (double)draw_between(state, -2, 2);
    w[CARRIED + k] = 0;
  }
  w[CARRIED] = (double)(-(long double)w[0] * x->real[0] / x->real[1]);
  for (size_t k = 0; k < CARRIED; k++)
    z[k] = (long double)w[k] * x->real[0] + (long double)w[CARRIED + k] * x->real[1];
  model_floats(m, "one", SHAPE())[0] = 1;
  model_node(m, "Mul", "x,one", "v");
  model_node(m, "MatMul", "v,w", "s");
}

/* What is added to a large number is lost, with the signs that move the deviation most beside feature 0. */
static void
draw_lost(clarke_model *m, clarke_tensor *x, long double *z, uint64_t *state)
{
  static const char *const sums[] = {"t0,e", "t1,e", "t2,e", "t3,e"};
  double *e, away = (draw_below(state, 2) ? 0.49 : -0.49) * 0x1p-12;

  model_floats(m, "w", SHAPE(2, CARRIED,));
  e = model_floats(m, "e", SHAPE(CARRIED,));
  model_floats(m, "c", SHAPE())[0] = 0x1p40 + 0x1p20;
  x->real[0] = 1;
  x->real[1] = 0;
  for (size_t k = 0; k < CARRIED; k++) {
    m->tensors[0].real[k] = k == 0 ? 9 + (double)draw_below(state, 3) : k % 2 ? 1 : -1;
    e[k] = k == 0 || k % 2 == 0 ? away : -away;
    z[k] = (long double)m->tensors[0].real[k] + LOST * (long double)e[k];
  }
  model_node(m, "MatMul", "x,w", "v");
  model_node(m, "Add", "v,c", "t0");
  for (size_t k = 0; k < LOST; k++) {
    char out[8];

    snprintf(out, sizeof out, "t%zu", k + 1);
    model_node(m, "Add", sums[k], out);
  }
  model_node(m, "Sub", "t4,c", "s");
}

/* Errors that come in: kinks about the true value of a feature, as far away as the computed one may be. */
START_TEST(filter_carries_errors)
{
  uint64_t state = 87;
  size_t filtered[2] = {0}, total[2] = {0};

  for (size_t i = 0; i < draw_count(1000); i++) {
    clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 2,));
    long double z[CARRIED], y;
    clarke_model m;
    double *b;

    model_begin(&m, 17);
    model_input(&m, "x", SHAPE(-1, 2,));
    if (i % 2 == 0)
      draw_product(&m, &x, z, &state);
    else
      draw_lost(&m, &x, z, &state);
    y = normal_form(z, CARRIED, 0);
    for (size_t k = 0; k < CARRIED; k++)
      (k == 0 ? model_floats(&m, "scale", SHAPE(CARRIED,)) : m.tensors[m.n_tensors - 1].real)[k] = 1;
    b = model_floats(&m, "b", SHAPE(CARRIED,));
    b[0] = (double)(-y + full_double(&state) * ldexp(1, i % 2 == 0 ? -20 : -8));
    for (size_t k = 1; k < CARRIED; k++)
      b[k] = 16;
    attr_float(model_node(&m, "LayerNormalization", "s,scale,b", "n"), "epsilon", 0x1p-10);
    model_node(&m, "Relu", "n", "y");
    model_output(&m, "y");
    compare_with_exact(&m, &x, &filtered[i % 2], &total[i % 2]);
    clarke_tensor_clear(&x);
    clarke_model_clear(&m);
  }
  printf("carried: %zu of %zu, %zu of %zu entries decided in floating point\n", filtered[0], total[0],
         filtered[1], total[1]);
}
END_TEST

/* A deviation that overflows must not make zeros of what it divides. */
START_TEST(filter_on_overflow)
{
  size_t filtered = 0, total = 0;
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 4,));
  clarke_model m;
  double *b;

  x.real[0] = 0x1p1000;
  x.real[1] = -0x1p1000;
  x.real[2] = 0x1p990;
  x.real[3] = -0x1p990;
  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, 4,));
  for (size_t e = 0; e < 4; e++)
    (e == 0 ? model_floats(&m, "scale", SHAPE(4,)) : m.tensors[0].real)[e] = 1;
  b = model_floats(&m, "b", SHAPE(4,));
  for (size_t e = 0; e < 4; e++)
    b[e] = e % 2 == 0 ? -0x1p-12 : 0x1p-12; /* less than the entries, of signs that oppose theirs */
  model_node(&m, "LayerNormalization", "x,scale,b", "n");
  model_node(&m, "Relu", "n", "y");
  model_output(&m, "y");
  compare_with_exact(&m, &x, &filtered, &total);
  ck_assert_uint_eq(filtered, 0);
  clarke_tensor_clear(&x);
  clarke_model_clear(&m);
}
END_TEST

/* --- identity ------------------------------------------------------------------------------------- */

START_TEST(identical_entries_are_one_function)
{
  uint64_t state = 86;
  size_t shared[2] = {0};

  for (size_t i = 0; i < draw_count(300); i++) {
    growing grown;
    clarke_tensor x;

    grow_normalized(&grown, &state, small_number);
    x = grow_batch(&grown, 1 + draw_below(&state, 3));
    perturb_identities(shared, &grown.m, &x, &state);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  expect_shared(shared);
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("network-normalize");

  tcase_add_test(tcase, rational_roots_are_exact);
  tcase_add_test(tcase, values_tangents_and_gradients);
  tcase_add_test(tcase, filter_on_normalized_networks);
  tcase_add_test(tcase, filter_on_cancellations);
  tcase_add_test(tcase, filter_at_its_bound);
  tcase_add_test(tcase, filter_carries_errors);
  tcase_add_test(tcase, filter_on_overflow);
  tcase_add_test(tcase, identical_entries_are_one_function);
  return run_tests();
}
