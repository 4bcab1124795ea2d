/* S_j less T_j, with T_j by derivatives and by identity, of networks made by hand. */
#include "asked.h"

#include "audit/tie_counts.h"

/* One window, and what is counted of it. */
static void
counts_are(const asked *a, size_t windows, size_t entries, size_t windows_by_identity, size_t entries_by_identity)
{
  for (size_t i = 0; i < a->audit.n_layers; i++) {
    const clarke_layer *l = &a->audit.layer[i];

    if (a->graph.steps[l->step].kind != CLARKE_MAX)
      continue;
    ck_assert(l->by_derivative_known);
    ck_assert_uint_eq(l->by_derivative.windows, windows);
    ck_assert_uint_eq(l->by_derivative.entries, entries);
    ck_assert_uint_eq(l->by_identity.windows, windows_by_identity);
    ck_assert_uint_eq(l->by_identity.entries, entries_by_identity);
    return;
  }
  ck_abort_msg("no window");
}

/* max_i relu(relu(w x_i) + b) at w = 0, x = (1, 0, 2, 1, 2): each relu(w x_i) is touched, but that of 0 is 0 for good. */
static void
ask_kinks(asked *a, double b, const char *profile)
{
  asked_begin(a, 1, 5, NUMBERS(1, 0, 2, 1, 2));
  a->profile = profile;
  weight(a, "w", SHAPE(1,), NUMBERS(0));
  weight(a, "b", SHAPE(1,), NUMBERS(b));
  node(a, "Mul", "x,w", "p");
  node(a, "Relu", "p", "r");
  node(a, "Add", "r,b", "s");
  node(a, "Relu", "s", "t");
  attr_ints(node(a, "ReduceMax", "t", "m"), "axes", SHAPE(1,));
  ask(a, "m");
}

START_TEST(kinks_before_a_window)
{
  asked a;

  ask_kinks(&a, 1, "Relu 0 0\ntie ReduceMax first\n");
  counts_are(&a, 0, 0, 1, 3);
  asked_end(&a);
  ask_kinks(&a, 1, "Relu 0 1\ntie ReduceMax first\n"); /* derivatives by w: 1, 0, 2, 1, 2 */
  counts_are(&a, 1, 3, 1, 3);
  asked_end(&a);
  ask_kinks(&a, 1, "Relu 0 1/2\ntie ReduceMax last\n");
  counts_are(&a, 1, 3, 1, 3);
  asked_end(&a);
}
END_TEST

START_TEST(a_window_of_zeros_counts_nothing)
{
  asked a;

  ask_kinks(&a, 0, "Relu 0 1\ntie ReduceMax first\n");
  ck_assert_uint_gt(a.audit.layer[a.audit.n_layers - 1].parted, 0);
  counts_are(&a, 0, 0, 0, 0);
  asked_end(&a);
}
END_TEST

/* A mean takes no entry: there is none that others would be compared with. */
START_TEST(a_mean_has_no_winner)
{
  asked a;

  ask_kinks(&a, 1, "Relu 0 1\ntie ReduceMax mean\n");
  ck_assert(!a.audit.layer[a.audit.n_layers - 1].by_derivative_known);
  ck_assert_uint_eq(a.audit.layer[a.audit.n_layers - 1].by_identity.windows, 1);
  asked_end(&a);
}
END_TEST

/* max_i relu(v relu(w x_i + u) + b) at w = 0, u = 1, b = 0, x = (1, -1, 1): by v and b the derivatives are one, by w they are v x_i. */
static void
ask_layers(asked *a, double v, double b)
{
  asked_begin(a, 1, 3, NUMBERS(1, -1, 1));
  a->profile = "Relu 0 0\ntie ReduceMax first\n";
  weight(a, "w", SHAPE(1,), NUMBERS(0));
  weight(a, "u", SHAPE(1,), NUMBERS(1));
  weight(a, "v", SHAPE(1,), NUMBERS(v));
  weight(a, "b", SHAPE(1,), NUMBERS(b));
  node(a, "Mul", "x,w", "p");
  node(a, "Add", "p,u", "q");
  node(a, "Relu", "q", "r");
  node(a, "Mul", "r,v", "s");
  node(a, "Add", "s,b", "y");
  node(a, "Relu", "y", "t");
  attr_ints(node(a, "ReduceMax", "t", "m"), "axes", SHAPE(1,));
  ask(a, "m");
}

START_TEST(derivatives_by_layers_before)
{
  asked a;

  ask_layers(&a, 1, 0);
  counts_are(&a, 1, 1, 1, 1);
  asked_end(&a);
  ask_layers(&a, 0, 1); /* v is 0: nothing comes of w */
  counts_are(&a, 0, 0, 1, 1);
  asked_end(&a);
}
END_TEST

/* Counted anew, the numbers are the same. */
START_TEST(counted_again)
{
  asked a;
  clarke_layer *l;

  ask_kinks(&a, 1, "Relu 0 1\ntie ReduceMax first\n");
  l = &a.audit.layer[a.audit.n_layers - 1];
  l->ties = l->ties_of_zeros = l->parted = 0;
  l->by_identity = l->by_derivative = (clarke_tie_counts){0, 0};
  clarke_layer_count_ties(l, &a.question);
  OK(clarke_audit_count_derivatives(&a.audit, &a.question, &error));
  counts_are(&a, 1, 3, 1, 3);
  asked_end(&a);
}
END_TEST

/* The first window of a network with one, as it was asked. */
static const clarke_layer *
window_of(const asked *a)
{
  for (size_t i = 0; i < a->audit.n_layers; i++)
    if (a->graph.steps[a->audit.layer[i].step].kind == CLARKE_MAX)
      return &a->audit.layer[i];
  ck_abort_msg("no window");
}

/* x (w, w, u), the columns of one parameter, chosen by a Gather: of columns that are one the entries are one function. */
static void
ask_columns(asked *a, double u)
{
  const int64_t columns[] = {0, 0, 1};

  asked_begin(a, 1, 2, NUMBERS(1, 1));
  a->profile = "tie ReduceMax first\n";
  weight(a, "w", SHAPE(2, 2,), NUMBERS(3, u, 3, u));
  memcpy(model_integers(&a->model, "columns", SHAPE(3,)), columns, sizeof columns);
  attr_int(node(a, "Gather", "w,columns", "c"), "axis", 1);
  node(a, "MatMul", "x,c", "y");
  attr_ints(node(a, "ReduceMax", "y", "m"), "axes", SHAPE(1,));
  ask(a, "m");
}

START_TEST(columns_of_one_parameter)
{
  asked a;

  ask_columns(&a, 1);
  ck_assert_uint_eq(window_of(&a)->ties, 1);
  ck_assert_uint_eq(window_of(&a)->touched, 0);
  asked_end(&a);
  ask_columns(&a, 3);
  ck_assert_uint_eq(window_of(&a)->touched, 1);
  asked_end(&a);
}
END_TEST

/* (2 x, 0 x') C by parameters (2, 0), at x = 1: the columns of C, a Constant, are (p, 0), (1, -0) and (1, q). Of equal columns the entries
 * are one function; where x' is 0, of all that are alike beside it. */
static void
numbers_are(double p, double q, double beside, size_t touched)
{
  clarke_tensor *numbers;
  asked a;

  asked_begin(&a, 1, 2, NUMBERS(1, beside));
  a.profile = "tie ReduceMax first\n";
  weight(&a, "w", SHAPE(2,), NUMBERS(2, 0));
  numbers = &node_attr(node(&a, "Constant", "", "c"), "value", CLARKE_ATTR_TENSOR)->t;
  *numbers = tensor_of("c", CLARKE_F64, SHAPE(2, 3,));
  memcpy(numbers->real, NUMBERS(p, 1, 1, 0, -0.0, q), 6 * sizeof *numbers->real);
  node(&a, "Mul", "x,w", "y");
  node(&a, "MatMul", "y,c", "z");
  attr_ints(node(&a, "ReduceMax", "z", "m"), "axes", SHAPE(1,));
  ask(&a, "m");
  ck_assert_uint_eq(window_of(&a)->ties, 1);
  ck_assert_uint_eq(window_of(&a)->touched, touched);
  asked_end(&a);
}

START_TEST(equal_numbers)
{
  numbers_are(0.5, 0, 1, 0);
  numbers_are(0.5, 1, 0, 0);
  numbers_are(0.5, 1, 1, 1);
  numbers_are(1, 0, 1, 0);
  numbers_are(1, 1, 1, 1);
}
END_TEST

/* max(mean(x w), x w), the mean over an axis of one entry: it is that entry. Over two it is another function. */
START_TEST(a_mean_of_one)
{
  asked a;

  for (long width = 1; width < 3; width++) {
    asked_begin(&a, 1, 1, NUMBERS(1));
    a.profile = "tie Maximum first\n";
    weight(&a, "w", SHAPE(1, width,), NUMBERS(2, 2));
    node(&a, "MatMul", "x,w", "y");
    attr_ints(node(&a, "ReduceMean", "y", "mean"), "axes", SHAPE(1,));
    node(&a, "Max", "mean,y", "m");
    ask(&a, "m");
    ck_assert_uint_eq(window_of(&a)->ties, (size_t)width);
    ck_assert_uint_eq(window_of(&a)->touched, width == 1 ? 0 : 2);
    asked_end(&a);
  }
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("tie counts");

  tcase_add_test(tests, kinks_before_a_window);
  tcase_add_test(tests, a_window_of_zeros_counts_nothing);
  tcase_add_test(tests, a_mean_has_no_winner);
  tcase_add_test(tests, derivatives_by_layers_before);
  tcase_add_test(tests, counted_again);
  tcase_add_test(tests, columns_of_one_parameter);
  tcase_add_test(tests, equal_numbers);
  tcase_add_test(tests, a_mean_of_one);
  return run_tests();
}
