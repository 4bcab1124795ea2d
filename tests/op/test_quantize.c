/* Integers with a scale: stored ones become weights; activations are divided, rounded and kept within a type. */
#include "steps.h"
#include "node.h"

#include "op/float8.h"
#include "op/floats.h"
#include "op/qlinear.h"
#include "op/quantize.h"
#include "op/surrogate.h"

#define OK(call) ck_assert_msg((call) == CLARKE_OK, "%s", error.text)

static const clarke_quantized columns = {.rank = 2, .dims = {3, 4}, .axis = 1}, blocks = {.rank = 2, .dims = {3, 5}, .axis = 1, .block = 2};

START_TEST(scales_fit_the_axis_or_blocks)
{
  ck_assert_ptr_null(clarke_quantized_fits(&columns, 0, NULL, 1));
  ck_assert_ptr_null(clarke_quantized_fits(&columns, 1, (const size_t[]){1}, 1));
  ck_assert_ptr_null(clarke_quantized_fits(&columns, 1, (const size_t[]){4}, 4));
  ck_assert_ptr_nonnull(clarke_quantized_fits(&columns, 1, (const size_t[]){3}, 3));
  ck_assert_ptr_nonnull(clarke_quantized_fits(&columns, 2, (const size_t[]){1, 4}, 4));
  ck_assert_ptr_null(clarke_quantized_fits(&blocks, 2, (const size_t[]){3, 3}, 9));
  ck_assert_ptr_nonnull(clarke_quantized_fits(&blocks, 2, (const size_t[]){3, 5}, 15));
  ck_assert_ptr_nonnull(clarke_quantized_fits(&blocks, 0, NULL, 1));
  for (size_t e = 0; e < 12; e++) {
    ck_assert_uint_eq(clarke_quantized_entry(&columns, 1, e), 0);
    ck_assert_uint_eq(clarke_quantized_entry(&columns, 4, e), e % 4);
  }
  for (size_t e = 0; e < 15; e++)
    ck_assert_uint_eq(clarke_quantized_entry(&blocks, 9, e), e / 5 * 3 + e % 5 / 2);
}
END_TEST

/* As C computes it in float; of half precision the two roundings must agree. */
START_TEST(floats_are_rounded_once)
{
  const float scales[] = {0.1f, 0.0123f, 3.7f, 1e-3f};

  for (size_t s = 0; s < 4; s++)
    for (int64_t i = -128; i < 128; i++) {
      const float product = (float)(i - 7) * scales[s];

      ck_assert(clarke_dequantized(i, 7, (double)scales[s], CLARKE_F32) == (double)product);
      ck_assert(clarke_dequantized(i, 7, 0.25, CLARKE_F16) == (double)(i - 7) * 0.25);
    }
  ck_assert(clarke_dequantized((1 << 24) + 1, 0, 1, CLARKE_F32) == 1 << 24);
  ck_assert(isnan(clarke_dequantized(1, 0, 0x1p-130, CLARKE_F32)) && isnan(clarke_dequantized(200, 0, 0x1p127, CLARKE_F32)));
  ck_assert(isnan(clarke_dequantized(0x1001, 0, 1 + 0x1p-10, CLARKE_F16))
            || clarke_floats_nearest(0x1001 * (1 + 0x1p-10), CLARKE_F16) == clarke_dequantized(0x1001, 0, 1 + 0x1p-10, CLARKE_F16));
}
END_TEST

static void
model_stored(bool weight)
{
  model_begin(&m, 21);
  model_input(&m, "x", SHAPE(-1, 2,));
  model_integers(&m, "q", SHAPE(2, 2,));
  model_floats(&m, "s", SHAPE(2,));
  model_integers(&m, "z", SHAPE(2,));
  for (size_t e = 0; e < 4; e++)
    m.tensors[0].integer[e] = (int64_t)e * 10;
  m.tensors[0].dtype = m.tensors[2].dtype = CLARKE_I8;
  m.tensors[1].real[0] = 0.5;
  m.tensors[1].real[1] = 0.25;
  m.tensors[2].integer[0] = 3;
  m.tensors[2].integer[1] = -1;
  model_node(&m, "DequantizeLinear", weight ? "q,s,z" : "x,s,z", "w");
  model_node(&m, "MatMul", "x,w", "y");
  model_output(&m, "y");
}

/* The axis is 1 where the node does not say. */
START_TEST(stored_integers_are_weights)
{
  static const double expected[] = {-1.5, 2.75, 8.5, 7.75};

  model_stored(true);
  OK(clarke_dequantize_weights(&m, &error));
  ck_assert_uint_eq(m.n_tensors, 4);
  ck_assert_str_eq(m.tensors[3].name, "w");
  ck_assert(m.nodes[0].promoted && !m.nodes[1].promoted);
  for (size_t e = 0; e < 4; e++)
    ck_assert(m.tensors[3].real[e] == expected[e]);
  clarke_model_clear(&m);
  model_stored(false);
  OK(clarke_dequantize_weights(&m, &error));
  ck_assert(m.n_tensors == 3 && !m.nodes[0].promoted);
  clarke_model_clear(&m);
}
END_TEST

/* Runtimes differ where an integer or its zero point is no float32, and so do types that DequantizeLinear has not. */
START_TEST(great_integers_are_none)
{
  ck_assert(clarke_dequantized(INT32_MAX, 0, 1, CLARKE_F32) == 0x1p31);
  ck_assert(isnan(clarke_dequantized(INT32_MAX, INT32_MIN, 1, CLARKE_F32)) && isnan(clarke_dequantized(1, 1 << 24, 1, CLARKE_F32)));
  ck_assert(isnan(clarke_dequantized(0x1p63, -1, 1, CLARKE_F32)));
  for (clarke_dtype dtype = CLARKE_U8; dtype <= CLARKE_I64; dtype++) {
    model_stored(true);
    m.tensors[0].dtype = m.tensors[2].dtype = dtype;
    OK(clarke_dequantize_weights(&m, &error));
    ck_assert(m.nodes[0].promoted == clarke_dequantizes(dtype));
    clarke_model_clear(&m);
  }
  ck_assert(!clarke_dequantizes(CLARKE_I64) && !clarke_dequantizes(CLARKE_U32) && clarke_dequantizes(CLARKE_I32));
}
END_TEST

static void
begin_run(void)
{
  begin();
  g.samples = g.together = 1;
  g.batched = false;
}

static void
give(size_t v, bool constant, const double *numbers, size_t n)
{
  free(g.values[v].real);
  free(g.values[v].integer);
  g.n_values = v >= g.n_values ? v + 1 : g.n_values;
  set_value(v, constant, 1, &n);
  g.values[v].real = calloc(n + 1, sizeof *g.values[v].real);
  memcpy(g.values[v].real, numbers, n * sizeof *numbers);
}

/* Inputs: x, a scale, a zero point of 8 bits. */
START_TEST(activations_are_rounded_and_saturated)
{
  static const double x[] = {-100, -0.625, -0.25, 0, 0.375, 1, 62.5, 63, 1000}, expected[] = {-128, -1, 0, 1, 3, 5, 127, 127, 127};
  const clarke_quantized layout = {.rank = 1, .dims = {9}};
  double least, most;
  size_t scale, shift, y;
  steps_run run;

  static size_t in[] = {0, 1, 2};

  give(0, false, x, 9);
  give(1, true, (double[]){0.25}, 1);
  give(2, true, (double[]){0}, 1);
  free(g.values[2].real);
  g.values[2].real = NULL;
  g.values[2].integer = calloc(1, sizeof(int64_t));
  g.values[2].integer[0] = 1;
  g.values[2].dtype = CLARKE_I8;
  low.in = in;
  low.n_in = 3;
  OK(clarke_quantized_range(&low, 2, &least, &most, &error));
  ck_assert(least == -128 && most == 127);
  scale = clarke_quantized_scale(&low, &layout, 1, &error);
  shift = clarke_quantized_shift(&low, &layout, 2, &error);
  ck_assert(g.values[1].bound && g.values[scale].real[0] == 0.25 && g.values[shift].real[0] == 1 && !g.values[scale].initializer);
  y = clarke_quantized_value(&low, 0, scale, shift, least, most, &error);
  ck_assert_msg(y != CLARKE_NONE, "%s", error.text);
  ck_assert_int_eq(g.values[y].holds, CLARKE_HOLDS_INTEGERS);
  steps_begin(&run, &g);
  for (size_t e = 0; e < 9; e++)
    mpq_set_d(run.value[0][e], x[e]);
  for (size_t i = 0; i < g.n_steps; i++)
    for (size_t f = 0; f < 9; f++) {
      mpq_set_ui(run.value[g.steps[i].out][f], 0, 1);
      steps_one(&run, &g.steps[i], f);
    }
  for (size_t e = 0; e < 9; e++)
    ck_assert_msg(mpq_get_d(run.value[y][e]) == expected[e], "entry %zu: %g", e, mpq_get_d(run.value[y][e]));
  steps_end(&run);
  ck_assert_uint_eq(clarke_whole_as_floats(&low, 0, &error), 0);
  y = clarke_whole_as_floats(&low, y, &error);
  ck_assert_int_eq(g.values[y].holds, CLARKE_HOLDS_FLOATS);
}
END_TEST

/* Stored integers, by column and of one zero point; what nodes compute is a step more. */
START_TEST(integers_lose_their_zero_points)
{
  static const int64_t stored[] = {5, 6, 7, 8}, zeros[] = {1, -2};
  const clarke_quantized layout = {.rank = 2, .dims = {2, 2}, .axis = 1};
  static const double expected[] = {4, 8, 6, 10};
  static size_t in[] = {0, 1, 2};
  size_t y, before;

  give(0, false, (double[]){1, 2, 3, 4}, 4);
  free(g.values[0].real);
  set_value(0, false, 2, layout.dims);
  for (size_t v = 1; v < 3; v++) {
    const size_t n = v == 1 ? 4 : 2;

    give(v, true, (double[]){0, 0, 0, 0}, n);
    if (v == 1)
      g.values[v].rank = 2;
    memcpy(g.values[v].dims, v == 1 ? layout.dims : (const size_t[]){2}, g.values[v].rank * sizeof(size_t));
    free(g.values[v].real);
    g.values[v].real = NULL;
    g.values[v].integer = calloc(n, sizeof(int64_t));
    memcpy(g.values[v].integer, v == 1 ? stored : zeros, n * sizeof(int64_t));
    g.values[v].dtype = CLARKE_I8;
  }
  low.in = in;
  low.n_in = 3;
  y = clarke_quantized_difference(&low, &layout, 1, 2, &error);
  ck_assert_msg(y != CLARKE_NONE && g.values[y].constant, "%s", error.text);
  for (size_t e = 0; e < 4; e++)
    ck_assert(g.values[y].real[e] == expected[e]);
  y = clarke_quantized_difference(&low, &layout, 1, 3, &error);
  for (size_t e = 0; e < 4; e++)
    ck_assert(g.values[y].real[e] == (double)stored[e]);
  before = g.n_steps;
  y = clarke_quantized_difference(&low, &layout, 0, 2, &error);
  ck_assert(y != CLARKE_NONE && !g.values[y].constant && g.n_steps > before);
}
END_TEST

/* Of integers it must be known that they have 32 bits; where their sum may have more it is cast, and has a domain. */
START_TEST(integers_are_added_up)
{
  static size_t in[] = {0, 1}, out[] = {CLARKE_NONE};

  give(0, false, (double[]){5, -7, 9}, 3);
  give(1, true, (double[]){0, 0, 0}, 3);
  free(g.values[1].real);
  g.values[1].real = NULL;
  g.values[1].integer = calloc(3, sizeof(int64_t));
  g.values[1].integer[1] = -1000;
  g.values[1].dtype = CLARKE_I32;
  low.in = in;
  low.out = out;
  low.n_in = 2;
  ck_assert(!clarke_adds_integers(&low));
  g.values[0].holds = CLARKE_HOLDS_INTEGERS;
  ck_assert(clarke_adds_integers(&low));
  ck_assert_int_eq(clarke_lower_integer_sum(&low, &error), CLARKE_EINPUT);
  ck_assert_ptr_nonnull(strstr(error.text, "how large they may be"));
  for (size_t k = 0; k < 2; k++) {
    const clarke_value *y;
    bool casts = false;
    const size_t before = g.n_steps;

    g.values[0].reach = k == 0 ? 65025 : INT32_MAX;
    OK(clarke_lower_integer_sum(&low, &error));
    y = &g.values[g.n_values - 1];
    for (size_t i = before; i < g.n_steps; i++)
      casts = casts || (g.steps[i].kind == CLARKE_ANALYTIC && g.steps[i].function == CLARKE_TRUNCATE);
    ck_assert(casts == (k == 1) && y->holds == CLARKE_HOLDS_INTEGERS && y->reach == (k == 0 ? 66025 : INT32_MAX));
  }
}
END_TEST

/* A comparison is 0 or 1. By the rule all is passed, or what lies between the ends, or between what is rounded to them. */
START_TEST(what_is_passed_lies_between)
{
  static const double x[] = {-5, -4.5, -4, 0, 3, 3.5, 4}, above[] = {0, 0, 0, 0, 1, 1, 1};
  static const double within[] = {-4, -4, -4, 0, 3, 3, 3}, rounded[] = {-4.5, -4.5, -4, 0, 3, 3.5, 3.5};
  steps_run run;
  size_t made[3];

  give(0, false, x, 7);
  made[0] = clarke_compared(&low, "Greater", 0, 0.5, &error);
  made[1] = clarke_surrogate_passed(&low, 0, CLARKE_SURROGATE_RANGE, -4, 3, &error);
  made[2] = clarke_surrogate_passed(&low, 0, CLARKE_SURROGATE_ROUNDED, -4, 3, &error);
  ck_assert(made[0] != CLARKE_NONE && made[1] != CLARKE_NONE && made[2] != CLARKE_NONE);
  ck_assert_uint_eq(clarke_surrogate_passed(&low, 0, CLARKE_SURROGATE_ALL, -4, 3, &error), 0);
  steps_begin(&run, &g);
  for (size_t e = 0; e < 7; e++)
    mpq_set_d(run.value[0][e], x[e]);
  for (size_t i = 0; i < g.n_steps; i++)
    for (size_t f = 0; f < 7; f++) {
      mpq_set_ui(run.value[g.steps[i].out][f], 0, 1);
      steps_one(&run, &g.steps[i], f);
    }
  for (size_t e = 0; e < 7; e++) {
    ck_assert(mpq_get_d(run.value[made[0]][e]) == above[e]);
    ck_assert(mpq_get_d(run.value[made[1]][e]) == within[e]);
    ck_assert(mpq_get_d(run.value[made[2]][e]) == rounded[e]);
  }
  steps_end(&run);
}
END_TEST

START_TEST(whole_numbers_are_kept_within)
{
  static const double x[] = {-9, -4, -3, 0, 3, 4}, expected[] = {-4, -4, -3, 0, 3, 3};
  steps_run run;
  size_t y;

  give(0, false, x, 6);
  y = clarke_saturated(&low, 0, -4, 3, &error);
  ck_assert_msg(y != CLARKE_NONE, "%s", error.text);
  steps_begin(&run, &g);
  for (size_t e = 0; e < 6; e++)
    mpq_set_d(run.value[0][e], x[e]);
  for (size_t i = 0; i < g.n_steps; i++)
    for (size_t f = 0; f < 6; f++) {
      mpq_set_ui(run.value[g.steps[i].out][f], 0, 1);
      steps_one(&run, &g.steps[i], f);
    }
  for (size_t e = 0; e < 6; e++)
    ck_assert(mpq_get_d(run.value[y][e]) == expected[e]);
  steps_end(&run);
}
END_TEST

/* A scale is above 0; a zero point has a type that is made. */
START_TEST(what_does_not_fit_is_refused)
{
  const clarke_quantized layout = {.rank = 1, .dims = {3}};
  double least, most;
  static size_t in[] = {0, 1, 2};

  give(0, false, (double[]){1, 2, 3}, 3);
  give(1, true, (double[]){1, 0, 1}, 3);
  give(2, true, (double[]){0}, 1);
  low.in = in;
  low.n_in = 3;
  ck_assert_uint_eq(clarke_quantized_scale(&low, &layout, 1, &error), CLARKE_NONE);
  says(error.text, "not above 0");
  ck_assert_uint_eq(clarke_quantized_shift(&low, &layout, 2, &error), CLARKE_NONE);
  says(error.text, "holds no integers");
  g.values[2].dtype = CLARKE_I32;
  ck_assert_int_eq(clarke_quantized_range(&low, 2, &least, &most, &error), CLARKE_EINPUT);
  says(error.text, "neither integers of 2, 4, 8 or 16 bits nor floats of 8");
}
END_TEST

/* The scale is one number, and so is the zero point; surrogates do not say what passes it. */
START_TEST(scales_are_computed)
{
  size_t scale = CLARKE_NONE, y;

  give(0, false, (double[]){-1, 0, 2, 3}, 4);
  y = clarke_dynamic_difference(&low, 0, &scale, &error);
  ck_assert_msg(y != CLARKE_NONE, "%s", error.text);
  ck_assert(g.values[y].rank == 1 && g.values[y].count == 4 && g.values[y].holds == CLARKE_HOLDS_FLOATS);
  ck_assert(g.values[scale].rank == 0 && !g.values[scale].constant);
  g.surrogates.rule[4] = CLARKE_SURROGATE_ALL;
  ck_assert_str_eq(clarke_surrogate_operator(4), "QuantizeLinear");
  ck_assert_uint_eq(clarke_dynamic_difference(&low, 0, &scale, &error), CLARKE_NONE);
  says(error.text, "does not say what passes a scale");
}
END_TEST

START_TEST(rules_have_names)
{
  clarke_surrogate rule;

  for (size_t r = CLARKE_SURROGATE_NONE; r <= CLARKE_SURROGATE_ROUNDED; r++)
    ck_assert(clarke_surrogate_parse(&rule, clarke_surrogate_name((clarke_surrogate)r)) && rule == r);
  ck_assert(!clarke_surrogate_parse(&rule, "some"));
  ck_assert_ptr_null(clarke_surrogate_operator(CLARKE_N_SURROGATES));
  for (size_t i = 0; i < CLARKE_N_SURROGATES; i++) {
    const bool zero = strncmp(clarke_surrogate_operator(i), "Quant", 5) == 0, ends = zero || strcmp(clarke_surrogate_operator(i), "BipolarQuant") == 0;

    g.surrogates.rule[i] = (clarke_surrogate)(i % 4);
    ck_assert_int_eq(clarke_surrogate_of(&g, clarke_surrogate_operator(i)), i % 4);
    ck_assert(clarke_surrogate_knows(i, CLARKE_SURROGATE_ALL) && clarke_surrogate_knows(i, CLARKE_SURROGATE_NONE));
    ck_assert(clarke_surrogate_knows(i, CLARKE_SURROGATE_ROUNDED) == zero && clarke_surrogate_knows(i, CLARKE_SURROGATE_RANGE) == ends);
  }
  ck_assert_int_eq(clarke_surrogate_of(&g, "Relu"), CLARKE_SURROGATE_NONE);
}
END_TEST

/* What is passed has kinks at the ends, with the numbers of whether AD passes a gradient there; y's numbers are added as constants. */
START_TEST(floats_of_8_bits_are_rounded_to)
{
  static const double x[] = {-1000, -9.5, -0x1p-10, 0, 0x1p-10, 1.0625, 1.1875, 17, 19, 464, 1000};
  static const double expected[] = {-448, -10, 0, 0, 0, 1, 1.25, 16, 20, 448, 448};
  steps_run run;
  size_t y;

  give(0, false, x, 11);
  give(2, true, (double[]){0}, 1);
  g.values[2].dtype = CLARKE_F8_E4M3FN;
  low.in[1] = CLARKE_NONE;
  ck_assert_int_eq(clarke_float8_made(&low, 2), CLARKE_F8_E4M3FN);
  ck_assert(!clarke_float8_is(clarke_float8_made(&low, 1)));
  ck_assert(clarke_float8_zero(CLARKE_F8_E4M3FN, (double[]){0, -0.0}, 2) && !clarke_float8_zero(CLARKE_F8_E4M3FN, (double[]){0, 1}, 2));
  ck_assert(!clarke_float8_zero(CLARKE_F32, (double[]){0}, 1) && !clarke_float8_zero(CLARKE_F8_E5M2, NULL, 1));
  y = clarke_float8_quantized(&low, 0, CLARKE_F8_E4M3FN, &error);
  ck_assert_msg(y != CLARKE_NONE, "%s", error.text);
  ck_assert_int_eq(g.values[y].holds, CLARKE_HOLDS_FLOAT8);
  steps_begin(&run, &g);
  for (size_t e = 0; e < 11; e++)
    mpq_set_d(run.value[0][e], x[e]);
  for (size_t i = 0; i < g.n_steps; i++)
    for (size_t f = 0; f < g.values[g.steps[i].out].count; f++) {
      mpq_set_ui(run.value[g.steps[i].out][f], 0, 1);
      steps_one(&run, &g.steps[i], f);
    }
  for (size_t e = 0; e < 11; e++)
    ck_assert_msg(mpq_get_d(run.value[y][e]) == expected[e], "entry %zu: %g", e, mpq_get_d(run.value[y][e]));
  steps_end(&run);
}
END_TEST

START_TEST(what_is_passed_has_ends)
{
  const double end[2] = {-1.5, 2};
  const bool passes[2] = {true, false};
  size_t passed, y, held;
  char *text;

  give(0, false, (double[]){-2, 0, 3}, 3);
  give(1, false, (double[]){10, 20, 30}, 3);
  low.op = clarke_operator_find("QuantizeLinear");
  g.surrogates.rule[4] = CLARKE_SURROGATE_ROUNDED;
  passed = clarke_surrogate_between(&low, 0, end, passes, &error);
  ck_assert(g.n_steps == 2 && g.steps[0].kind == CLARKE_PIECEWISE && g.steps[1].kind == CLARKE_PIECEWISE && g.steps[1].out == passed);
  ck_assert(g.steps[0].pieces.first_kink == 0 && g.steps[1].pieces.first_kink == 1);
  ck_assert(mpq_cmp_si(g.steps[0].pieces.kink[0], -3, 2) == 0 && mpq_cmp_si(g.steps[1].pieces.kink[0], 2, 1) == 0);
  ck_assert(mpq_cmp_si(g.steps[0].pieces.coef[0][0], -3, 2) == 0 && mpq_cmp_si(g.steps[0].pieces.coef[1][1], 1, 1) == 0);
  ck_assert(mpq_cmp_si(g.steps[1].pieces.coef[0][1], 1, 1) == 0 && mpq_cmp_si(g.steps[1].pieces.coef[1][0], 2, 1) == 0);
  ck_assert_uint_eq(clarke_surrogate_next(&g, 0), CLARKE_NONE);
  held = clarke_surrogate_held(&low, passed, &error);
  ck_assert(held == g.n_values - 1 && g.steps[2].function == CLARKE_HELD && clarke_step_jumps(&g.steps[2]));
  y = clarke_surrogate_straight(&low, passed, 1, &error);
  ck_assert_msg(y != CLARKE_NONE, "%s", error.text);
  ck_assert_uint_eq(clarke_surrogate_next(&g, 0), 2);
  ck_assert_uint_eq(clarke_surrogate_next(&g, 3), CLARKE_NONE); /* it is one node's */
  text = clarke_surrogate_text(&g, 2);
  ck_assert_str_eq(text, "/y (QuantizeLinear): its derivative is its argument's where the rounded number is in the range, and 0 outside");
  free(text);
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("quantize"), *nodes = tests_of("nodes");

  tcase_add_test(tcase, scales_fit_the_axis_or_blocks);
  tcase_add_test(tcase, floats_are_rounded_once);
  tcase_add_test(tcase, stored_integers_are_weights);
  tcase_add_test(tcase, great_integers_are_none);
  tcase_add_checked_fixture(nodes, begin_run, end);
  tcase_add_test(nodes, activations_are_rounded_and_saturated);
  tcase_add_test(nodes, integers_lose_their_zero_points);
  tcase_add_test(nodes, integers_are_added_up);
  tcase_add_test(nodes, what_is_passed_lies_between);
  tcase_add_test(nodes, whole_numbers_are_kept_within);
  tcase_add_test(nodes, what_does_not_fit_is_refused);
  tcase_add_test(nodes, scales_are_computed);
  tcase_add_test(nodes, rules_have_names);
  tcase_add_test(nodes, what_is_passed_has_ends);
  tcase_add_test(nodes, floats_of_8_bits_are_rounded_to);
  return run_tests();
}
