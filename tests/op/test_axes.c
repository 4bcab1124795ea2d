/* What lowerings stand on: axes of a file's tensors, chains of steps, what a step is told to be. */
#include "node.h"

#include "op/normalize.h"

START_TEST(a_batch_axis_leads_activations)
{
  size_t dims[CLARKE_MAX_WHOLE];

  ck_assert_uint_eq(clarke_axes_lead(&low, 0), 1);
  ck_assert_uint_eq(clarke_axes_whole(&low, 0, dims), 4);
  ck_assert(dims[0] == 1 && dims[1] == 2 && dims[2] == 3 && dims[3] == 4);
  ck_assert_uint_eq(clarke_axes_lead(&low, 2), 0);
  ck_assert_uint_eq(clarke_axes_whole(&low, 2, dims), 1);
  ck_assert_uint_eq(dims[0], 3);
  g.batched = false;
  ck_assert_uint_eq(clarke_axes_lead(&low, 0), 0);
  ck_assert_uint_eq(clarke_axes_whole(&low, 0, dims), 3);
  ck_assert_uint_eq(dims[0], 2);
}
END_TEST

START_TEST(a_batch_axis_elsewhere)
{
  size_t dims[] = {5, 6, 7, 8};

  g.values[0].batch = (clarke_batch_axis){.axis = 2, .inner = 1};
  ck_assert_int_eq(clarke_axes_rows(&low, 0, &error), CLARKE_EINPUT);
  says(error.text, "input 'x' has the batch on axis 2; this operator takes it as the first axis only");
  ck_assert_uint_eq(clarke_axes_of_input(&low, 4, dims), 3);
  ck_assert(dims[0] == 5 && dims[1] == 6 && dims[2] == 8);
  g.values[0].batch = (clarke_batch_axis){.merged = true, .inner = 3};
  ck_assert_int_eq(clarke_axes_rows(&low, 0, &error), CLARKE_OK);
  ck_assert_uint_eq(clarke_axes_of_input(&low, 3, dims), 3);
  g.batched = false;
  g.values[0].batch = (clarke_batch_axis){.axis = 2, .inner = 1};
  ck_assert_int_eq(clarke_axes_rows(&low, 0, &error), CLARKE_OK);
  ck_assert_uint_eq(clarke_axes_of_input(&low, 3, dims), 3);
}
END_TEST

/* As a message has it: N stands for the samples of a run. */
START_TEST(shapes_are_told)
{
  char text[CLARKE_SHAPE_TEXT];

  clarke_axes_text(&low, 0, text);
  ck_assert_str_eq(text, "(N, 2, 3, 4)");
  clarke_axes_text(&low, 2, text);
  ck_assert_str_eq(text, "(3)");
  g.values[0].batch = (clarke_batch_axis){.axis = 2, .inner = 1};
  clarke_axes_text(&low, 0, text);
  ck_assert_str_eq(text, "(2, 3, N, 4)");
  g.values[0].batch = (clarke_batch_axis){.merged = true, .axis = 1, .inner = 3};
  clarke_axes_text(&low, 0, text);
  ck_assert_str_eq(text, "(2, 3 N, 4)");
}
END_TEST

START_TEST(axes_count_from_either_end)
{
  size_t axis;

  for (int64_t a = -6; a <= 6; a++) {
    const bool there = a >= -4 && a <= 3;

    ck_assert_int_eq(clarke_axes_resolve(&low, a, 4, &axis, &error), there ? CLARKE_OK : CLARKE_EINPUT);
    if (there)
      ck_assert_uint_eq(axis, (size_t)(a < 0 ? a + 4 : a));
    else
      says(error.text, "net.onnx: node 7|LayerNormalization|is out of range for 4 axes");
  }
  ck_assert_int_eq(clarke_axes_resolve(&low, INT64_MIN, 4, &axis, &error), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_axes_resolve(&low, INT64_MAX, 4, &axis, &error), CLARKE_EINPUT);
}
END_TEST

START_TEST(each_axis_is_chosen_once)
{
  static const int64_t two[] = {-1, 1}, twice[] = {1, -2}, far[] = {3};
  bool chosen[3];

  ck_assert_int_eq(clarke_axes_chosen(&low, two, 2, 3, chosen, &error), CLARKE_OK);
  ck_assert(!chosen[0] && chosen[1] && chosen[2]);
  ck_assert_int_eq(clarke_axes_chosen(&low, two, 0, 3, chosen, &error), CLARKE_OK);
  ck_assert(!chosen[0] && !chosen[1] && !chosen[2]);
  ck_assert_int_eq(clarke_axes_chosen(&low, twice, 2, 3, chosen, &error), CLARKE_EINPUT);
  says(error.text, "axis -2 is out of range or given twice");
  ck_assert_int_eq(clarke_axes_chosen(&low, far, 1, 3, chosen, &error), CLARKE_EINPUT);
}
END_TEST

START_TEST(a_list_is_an_attribute_or_else_an_input)
{
  const int64_t *list;
  size_t n;
  bool given;

  ck_assert_int_eq(clarke_axes_list(&low, "axes", 3, &list, &n, &given, &error), CLARKE_OK);
  ck_assert(!given && n == 0);
  ck_assert_int_eq(clarke_axes_list(&low, "axes", 1, &list, &n, &given, &error), CLARKE_OK);
  ck_assert(given && n == 3 && list == g.values[1].integer);
  ck_assert_int_eq(clarke_axes_list(&low, "axes", 2, &list, &n, &given, &error), CLARKE_EINPUT);
  says(error.text, "input 2 must be a constant of integers");
  attr_ints(&m.nodes[0], "axes", SHAPE(5, 6, ));
  ck_assert_int_eq(clarke_axes_list(&low, "axes", 1, &list, &n, &given, &error), CLARKE_OK);
  ck_assert(given && n == 2 && list[0] == 5 && list[1] == 6);
}
END_TEST

START_TEST(a_chain_begins_with_input_0)
{
  clarke_chain c;

  ck_assert_int_eq(clarke_chain_begin(&c, &low, 2, &error), CLARKE_OK);
  ck_assert(c.axes == 4 && c.rank == 3 && c.dims[2] == 4 && c.value == 0);
  ck_assert_uint_eq(c.space, 3 * 4);
  ck_assert_int_eq(clarke_chain_begin(&c, &low, 5, &error), CLARKE_EINPUT);
  says(error.text, "an input of 4 axes; expected a batch, channels and one axis or more");
  ck_assert_int_eq(clarke_chain_weight(&low, 2, "scale", 3, "channels", &error), CLARKE_OK);
  ck_assert_int_eq(clarke_chain_weight(&low, 2, "scale", 4, "channels", &error), CLARKE_EINPUT);
  says(error.text, "scale has 1 axes and 3 entries; expected one axis of 4 channels");
  g.values[0].count = 0;
  ck_assert_int_eq(clarke_chain_begin(&c, &low, 2, &error), CLARKE_EINPUT);
  says(error.text, "the input has no entries");
  low.in[0] = 1;
  ck_assert_int_eq(clarke_chain_begin(&c, &low, 1, &error), CLARKE_EINPUT);
  says(error.text, "input 0 must hold floats");
  low.in[0] = 2; /* a constant becomes an activation */
  ck_assert_int_eq(clarke_chain_begin(&c, &low, 1, &error), CLARKE_OK);
  ck_assert(c.value == low.in[0] && !g.values[c.value].constant && g.values[c.value].batch.none && c.rank == 1 && c.dims[0] == 3);
  low.in[0] = 0;
}
END_TEST

START_TEST(steps_of_a_chain_take_the_one_before)
{
  const clarke_grouping grouping = {1, 2, 12, false};
  const clarke_step *s;
  clarke_chain c;

  ck_assert_int_eq(clarke_chain_begin(&c, &low, 2, &error), CLARKE_OK);
  attr_float(&m.nodes[0], "epsilon", 0);
  ck_assert_int_eq(clarke_chain_normalize(&c, &low, grouping, &error), CLARKE_EINPUT);
  says(error.text, "epsilon is 0; expected a number above zero");
  m.nodes[0].attr[0].f = 0.25;
  ck_assert_int_eq(clarke_chain_normalize(&c, &low, grouping, &error), CLARKE_OK);
  s = &g.steps[0];
  ck_assert(s->kind == CLARKE_NORMALIZE && s->in[0].value == 0 && s->grouping.length == 12);
  ck_assert(mpq_cmp_ui(s->epsilon, 1, 4) == 0);
  ck_assert_uint_eq(c.value, s->out);
  ck_assert_ptr_nonnull(clarke_chain_step(&c, &low, CLARKE_SCALE, 2, &error));
  s = &g.steps[1];
  ck_assert(s->in[0].value == g.steps[0].out && s->in[1].value == 2 && s->in[1].map == NULL);
  ck_assert_uint_eq(c.value, s->out);
}
END_TEST

START_TEST(steps_say_what_they_are)
{
  for (int kind = CLARKE_GATHER; kind <= CLARKE_NORMALIZE; kind++) {
    const clarke_step s = {.kind = (clarke_step_kind)kind};

    ck_assert(clarke_step_has_kinks(&s) == (kind == CLARKE_PIECEWISE || kind == CLARKE_MAX));
    ck_assert(clarke_step_is_analytic(&s) ==
              (kind == CLARKE_ANALYTIC || kind == CLARKE_SOFTMAX || kind == CLARKE_NORMALIZE));
  }
}
END_TEST

START_TEST(divisors_are_not_zero)
{
  clarke_operand in[2] = {{.value = 0}, {.value = 2}};
  clarke_step s = {.kind = CLARKE_SCALE, .n_in = 2, .in = in};

  mpq_init(s.epsilon);
  memcpy(g.values[2].real, (double[]){1, -0.25, 0}, 3 * sizeof(double));
  ck_assert_uint_eq(clarke_step_bad_divisor(&g, &s), CLARKE_NONE); /* it multiplies */
  s.divide = true;
  ck_assert_uint_eq(clarke_step_bad_divisor(&g, &s), 2);
  s.divide = false;
  s.root = true;
  mpq_set_ui(s.epsilon, 1, 4);
  ck_assert_uint_eq(clarke_step_bad_divisor(&g, &s), 1); /* -1/4 + 1/4 */
  mpq_set_ui(s.epsilon, 1, 3);
  ck_assert_uint_eq(clarke_step_bad_divisor(&g, &s), CLARKE_NONE);
  mpq_clear(s.epsilon);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("axes");

  tcase_add_checked_fixture(tests, begin, end);
  tcase_add_test(tests, a_batch_axis_leads_activations);
  tcase_add_test(tests, a_batch_axis_elsewhere);
  tcase_add_test(tests, shapes_are_told);
  tcase_add_test(tests, axes_count_from_either_end);
  tcase_add_test(tests, each_axis_is_chosen_once);
  tcase_add_test(tests, a_list_is_an_attribute_or_else_an_input);
  tcase_add_test(tests, a_chain_begins_with_input_0);
  tcase_add_test(tests, steps_of_a_chain_take_the_one_before);
  tcase_add_test(tests, steps_say_what_they_are);
  tcase_add_test(tests, divisors_are_not_zero);
  return run_tests();
}
