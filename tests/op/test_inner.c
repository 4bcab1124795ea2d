/* Nodes within a node, and what attentions make of them, on a node made by hand. */
#include "node.h"

#include "op/attention.h"
#include "op/floats.h"
#include "op/identity.h"
#include "op/lower.h"
#include "op/node.h"

#include <math.h>

START_TEST(forms_are_of_operator_sets)
{
  const clarke_op *split = clarke_operator_find("Split");

  ck_assert_ptr_null(clarke_node_form(split, 6));
  ck_assert_int_eq(clarke_node_form(split, 12)->since, 7);
  ck_assert_int_eq(clarke_node_form(split, 13)->since, 13);
  ck_assert_int_eq(clarke_node_form(split, 99)->since, 18);
}
END_TEST

/* The node's own name, or operator and place. */
START_TEST(steps_are_called_as_the_node)
{
  char *name = clarke_lower_name(&low);

  ck_assert_str_eq(name, "/y");
  free(name);
  m.nodes[0].name[0] = '\0';
  name = clarke_lower_name(&low);
  ck_assert_str_eq(name, "LayerNormalization_7");
  free(name);
}
END_TEST

START_TEST(inner_nodes_make_values_without_names)
{
  const clarke_attr axis = clarke_inner_int("axis", -1);
  size_t y = clarke_inner_node(&low, "Softmax", (const size_t[]){0}, 1, &axis, 1, &error);

  ck_assert_uint_eq(y, g.n_values - 1);
  ck_assert(g.values[y].name == NULL && g.steps[0].kind == CLARKE_SOFTMAX && g.steps[0].length == 4);
  ck_assert_str_eq(g.steps[0].name, "/y");
  y = clarke_inner_function(&low, "Sigmoid", y, &error);
  ck_assert(g.steps[1].kind == CLARKE_ANALYTIC && g.steps[1].in[0].value == y - 1);
  ck_assert_uint_eq(clarke_inner_of(&low, "Add", y, 0, &error), y + 1);
  ck_assert_uint_eq(clarke_inner_of(&low, "Add", y, CLARKE_NONE, &error), CLARKE_NONE);
  ck_assert_uint_eq(clarke_inner_function(&low, "Sigmoid", CLARKE_NONE, &error), CLARKE_NONE);
  ck_assert_uint_eq(g.n_steps, 3);
}
END_TEST

/* A failure names the node of the file, and which of its own it was. */
START_TEST(failures_name_both_nodes)
{
  ck_assert_uint_eq(clarke_inner_of(&low, "MatMul", 0, 0, &error), CLARKE_NONE);
  says(error.text, "net.onnx: node 7 '/y' (LayerNormalization, its MatMul): |a matrix of 4 columns times one of 3 rows");
  low.in = (size_t[]){0};
  low.n_in = 1;
  low.op = clarke_operator_find("Sorted");
  low.form = clarke_node_form(low.op, 21);
  ck_assert_int_eq(clarke_node_lower(&low, &error), CLARKE_EINPUT);
}
END_TEST

START_TEST(constants_are_no_parameters)
{
  static const int64_t list[] = {3, -4};
  const size_t integers = clarke_inner_integers(&low, list, 2, &error), number = clarke_inner_number(&low, 0.25, &error);
  const clarke_attr perm = clarke_inner_ints("perm", list, 2);

  ck_assert(g.values[integers].constant && g.values[integers].integer[1] == -4 && g.values[integers].real == NULL);
  ck_assert(g.values[number].constant && g.values[number].rank == 0 && g.values[number].real[0] == 0.25 && !g.values[number].initializer);
  ck_assert(perm.type == CLARKE_ATTR_INTS && perm.n == 2 && perm.ints == list);
}
END_TEST

START_TEST(entries_are_moved)
{
  size_t y = clarke_inner_reshaped(&low, 0, (const int64_t[]){1, 2, 12}, 3, &error);

  ck_assert(g.values[y].rank == 2 && g.values[y].dims[1] == 12);
  y = clarke_inner_transposed(&low, y, (const int64_t[]){0, 2, 1}, 3, &error);
  ck_assert(g.values[y].dims[0] == 12 && g.values[y].dims[1] == 2);
  y = clarke_inner_sliced(&low, y, 1, 3, 5, &error);
  ck_assert(g.values[y].dims[0] == 2 && g.values[y].count == 4);
  ck_assert_uint_eq(g.steps[g.n_steps - 1].in[0].map[0], 6);
  y = clarke_inner_joined(&low, (const size_t[]){y, y, y}, 3, 2, &error);
  ck_assert(g.values[y].dims[0] == 2 && g.values[y].dims[1] == 6);
  ck_assert_uint_eq(clarke_inner_joined(&low, (const size_t[]){y, CLARKE_NONE}, 2, 1, &error), CLARKE_NONE);
  ck_assert_uint_eq(clarke_inner_sliced(&low, CLARKE_NONE, 1, 0, 1, &error), CLARKE_NONE);
  ck_assert_int_eq(clarke_inner_done(&low, 0, y, &error), CLARKE_OK);
  ck_assert_str_eq(g.values[low.out[0]].name, "y");
}
END_TEST

/* An error that nobody asked for is not read. */
START_TEST(failures_without_an_error)
{
  low.in = (size_t[]){0, 2, 2};
  low.n_in = 3;
  ck_assert_int_eq(clarke_operator_find("RotaryEmbedding")->lower(&low, NULL), CLARKE_ENOMEM); /* cosines of one axis */
  ck_assert_int_eq(clarke_operator_find("RotaryEmbedding")->lower(&low, &error), CLARKE_EINPUT);
  says(error.text, "input 1 is not of (1, 3, 2), and there are no position_ids");
  ck_assert_int_eq(clarke_inner_failed(&error), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_inner_failed(NULL), CLARKE_ENOMEM);
}
END_TEST

/* A mask that is computed broadcasts to the scores, (1, 2, 3, 3): not from one key, and they do not to it. */
START_TEST(masks_do_not_widen_scores)
{
  const size_t one = clarke_inner_sliced(&low, 0, 3, 0, 1, &error), keys = clarke_inner_sliced(&low, 0, 3, 0, 3, &error);
  const size_t head = clarke_inner_sliced(&low, 0, 1, 0, 1, &error);
  const clarke_op *attention = clarke_operator_find("Attention");

  low.n_in = 4;
  low.in = (size_t[]){0, 0, 0, one};
  ck_assert_int_eq(attention->lower(&low, &error), CLARKE_EINPUT);
  says(error.text, "a mask of one key for 3");
  low.in = (size_t[]){head, head, head, keys};
  ck_assert_int_eq(attention->lower(&low, &error), CLARKE_EINPUT);
  says(error.text, "a mask of 2 entries along axis 1; the scores have 1");
  low.in = (size_t[]){0, 0, 0, keys};
  ck_assert_int_eq(attention->lower(&low, &error), CLARKE_OK);
}
END_TEST

/* Of one sample an input of the samples alone has as many entries as one class has weights. */
START_TEST(weights_of_each_sample_are_none)
{
  set_value(0, false, 0, NULL);
  free(g.values[1].integer);
  set_value(1, true, 1, (const size_t[]){1});
  g.values[1].integer = calloc(1, sizeof *g.values[1].integer);
  free(g.values[2].real);
  set_value(2, true, 2, (const size_t[]){1, 1});
  g.values[2].real = calloc(1, sizeof *g.values[2].real);
  low.in = (size_t[]){2, 1, 0};
  low.n_in = 3;
  ck_assert_int_eq(clarke_operator_find("NegativeLogLikelihoodLoss")->lower(&low, &error), CLARKE_EINPUT);
  says(error.text, "the weights are of each sample");
}
END_TEST

/* A list of none, and a shape of no axes, need no memory that they lie in. */
START_TEST(lists_of_none)
{
  const size_t list = clarke_inner_integers(&low, NULL, 0, &error), number = clarke_inner_number(&low, 2, &error);
  const size_t y = clarke_inner_reshaped(&low, number, NULL, 0, &error);

  ck_assert(g.values[list].rank == 1 && g.values[list].count == 0 && g.values[y].rank == 0 && g.values[y].real[0] == 2);
}
END_TEST

/* Heads lie one after another along the last axis, and go back there. */
START_TEST(heads_are_taken_apart)
{
  size_t x = clarke_inner_reshaped(&low, 0, (const int64_t[]){1, 4, 6}, 3, &error), y;

  x = clarke_attention_heads(&low, x, 1, 4, 2, 3, &error);
  ck_assert(g.values[x].rank == 3 && g.values[x].dims[0] == 2 && g.values[x].dims[1] == 4 && g.values[x].dims[2] == 3);
  y = clarke_attention_joined(&low, x, 1, 4, 2, 3, &error);
  ck_assert(g.values[y].rank == 2 && g.values[y].dims[0] == 4 && g.values[y].dims[1] == 6);
  ck_assert_uint_eq(clarke_attention_heads(&low, CLARKE_NONE, 1, 4, 2, 3, &error), CLARKE_NONE);
}
END_TEST

/* By the root of a head's size: a whole number divides, another is a root that is exact. */
START_TEST(scores_are_scaled)
{
  size_t y = clarke_attention_scaled(&low, NAN, 9, 0, &error);

  ck_assert(g.steps[0].kind == CLARKE_SCALE && g.steps[0].divide && !g.steps[0].root);
  ck_assert(g.values[g.steps[0].in[1].value].real[0] == 3);
  y = clarke_attention_scaled(&low, NAN, 8, y, &error);
  ck_assert(g.steps[1].root && !g.steps[1].divide && mpq_sgn(g.steps[1].epsilon) == 0);
  ck_assert(g.values[g.steps[1].in[1].value].real[0] == 8);
  y = clarke_attention_scaled(&low, 0.25, 8, y, &error);
  ck_assert(!g.steps[2].root && !g.steps[2].divide && g.values[g.steps[2].in[1].value].real[0] == 0.25);
  ck_assert_uint_eq(clarke_attention_scaled(&low, 1, 8, CLARKE_NONE, &error), CLARKE_NONE);
}
END_TEST

/* What is marked as minus infinity is so in a copy. */
START_TEST(marks_are_copied)
{
  g.values[0].excluded = calloc(24, sizeof(bool));
  g.values[0].excluded[5] = true;
  ck_assert_int_eq(clarke_lower_copy_marked(&low, &error), CLARKE_OK);
  ck_assert(g.n_values == 4 && g.values[3].excluded[5] && !g.values[3].excluded[4]);
}
END_TEST

/* The largest entries of a constant of float32 that no parameter is. */
START_TEST(extremes_of_constants_are_computed)
{
  bool computed = true;

  ck_assert_int_eq(clarke_lower_floats_extreme(&low, false, &computed, &error), CLARKE_OK);
  ck_assert(!computed); /* of an activation */
  low.in = (size_t[]){2};
  low.n_in = 1;
  g.values[2].dtype = CLARKE_F32;
  memcpy(g.values[2].real, (double[]){-INFINITY, 3, 2}, 3 * sizeof(double));
  ck_assert_int_eq(clarke_lower_floats_extreme(&low, false, &computed, &error), CLARKE_OK);
  ck_assert(computed && g.values[3].real[0] == 3 && !g.values[3].odd && g.values[3].rank == 1);
  ck_assert_int_eq(clarke_lower_floats_extreme(&low, true, &computed, &error), CLARKE_OK);
  ck_assert(g.values[4].real[0] == -INFINITY && g.values[4].odd);
  g.values[2].real[1] = NAN;
  ck_assert_int_eq(clarke_lower_floats_extreme(&low, true, &computed, &error), CLARKE_EINPUT);
}
END_TEST

static size_t out[1];

static void
begin_with_output(void)
{
  begin();
  g.samples = g.together = 1;
  out[0] = CLARKE_NONE;
  low.out = out;
}

int
main(void)
{
  TCase *tests = tests_of("inner");

  tcase_add_checked_fixture(tests, begin_with_output, end);
  tcase_add_test(tests, forms_are_of_operator_sets);
  tcase_add_test(tests, steps_are_called_as_the_node);
  tcase_add_test(tests, inner_nodes_make_values_without_names);
  tcase_add_test(tests, failures_name_both_nodes);
  tcase_add_test(tests, constants_are_no_parameters);
  tcase_add_test(tests, entries_are_moved);
  tcase_add_test(tests, failures_without_an_error);
  tcase_add_test(tests, masks_do_not_widen_scores);
  tcase_add_test(tests, weights_of_each_sample_are_none);
  tcase_add_test(tests, lists_of_none);
  tcase_add_test(tests, heads_are_taken_apart);
  tcase_add_test(tests, scores_are_scaled);
  tcase_add_test(tests, marks_are_copied);
  tcase_add_test(tests, extremes_of_constants_are_computed);
  return run_tests();
}
