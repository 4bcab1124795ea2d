/* Means with irrational weights, by what the cells change in AD's gradient. */
#include "asked.h"
#include "drawn.h"

#include "audit/balance.h"
#include "audit/cell.h"
#include "audit/slope_hull.h"

#define ALL_EFFECT ((const bool[]){true, true, true, true, true, true, true, true})

/* relu(w y) at w = 0, where y, by Elu, is 2 in a sample and 1/e - 1 in two: AD says 0, and limits are 2 and 2/e - 2. */
static void
ask_factors(asked *a, const char *proxies)
{
  asked_begin(a, 3, 1, NUMBERS(2, -1, -1));
  weight(a, "w", SHAPE(1, 1,), NUMBERS(0));
  node(a, "Elu", "x", "y");
  node(a, "MatMul", "y,w", "v");
  node(a, "Relu", "v", "out");
  a->profile = proxies;
  ask(a, "out");
}

START_TEST(weights_are_irrational)
{
  static const struct {
    const char *proxies;
    clarke_verdict verdict;
  } of[] = {
    {"Elu 0 1\nRelu 0 0\n", CLARKE_IN_CLARKE},
    {"Elu 0 1\nRelu 0 27/10\n", CLARKE_IN_CLARKE}, /* e is 2.718... */
    {"Elu 0 1\nRelu 0 14/5\n", CLARKE_NOT_IN_CLARKE},
  };
  asked a;

  for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
    ask_factors(&a, of[i].proxies);
    verdict_is(&a, of[i].verdict);
    if (of[i].verdict == CLARKE_IN_CLARKE)
      ck_assert(a.audit.evidence == CLARKE_EVIDENCE_BALANCE && a.audit.n_cells == 2 && a.audit.balance.n == 1);
    asked_end(&a);
  }
}
END_TEST

/* log softmax(|w|, 0), of which the first, at w = 0: relu(w) + relu(-w) has the derivatives 1 and -1 nearby, and AD says 0. */
START_TEST(behind_a_log_softmax)
{
  asked a;

  asked_begin(&a, 1, 1, NUMBERS(1));
  weight(&a, "w", SHAPE(1, 1,), NUMBERS(0));
  weight(&a, "u", SHAPE(1, 2,), NUMBERS(1, 0));
  weight(&a, "c", SHAPE(2, 1,), NUMBERS(1, 0));
  node(&a, "MatMul", "x,w", "v");
  node(&a, "Neg", "v", "n");
  node(&a, "Relu", "v", "r");
  node(&a, "Relu", "n", "l");
  node(&a, "Add", "r,l", "s");
  node(&a, "MatMul", "s,u", "t");
  node(&a, "LogSoftmax", "t", "p");
  node(&a, "MatMul", "p,c", "out");
  a.profile = "Relu 0 0\n";
  a.wrt = "w";
  ask(&a, "out");
  verdict_is(&a, CLARKE_IN_CLARKE);
  ck_assert(a.audit.evidence == CLARKE_EVIDENCE_BALANCE && a.audit.n_cells == 2);
  asked_end(&a);
}
END_TEST

/* Two such parameters: 0 is between opposite corners of a square, so that each group has weights of its own. */
START_TEST(groups_have_own_weights)
{
  asked a;

  asked_begin(&a, 3, 1, NUMBERS(2, -1, -1));
  weight(&a, "w", SHAPE(1, 2,), NUMBERS(0, 0));
  node(&a, "Elu", "x", "y");
  node(&a, "MatMul", "y,w", "v");
  node(&a, "Relu", "v", "out");
  a.profile = "Elu 0 1\nRelu 0 0\n";
  ask(&a, "out");
  verdict_is(&a, CLARKE_IN_CLARKE);
  ck_assert(a.audit.evidence == CLARKE_EVIDENCE_BALANCE && a.audit.n_cells == 4 && a.audit.balance.n == 2);
  for (size_t k = 0; k < a.replay.n_touches; k++)
    ck_assert_uint_eq(a.audit.balance.group_of[k], 1 + a.replay.touch[k].feature);
  asked_end(&a);
}
END_TEST

/* From all cells, from one of them, and from two that do not surround AD's output. */
START_TEST(cells_are_chosen)
{
  static const clarke_branch sides[4][3] = {{CLARKE_LEFT, CLARKE_RIGHT, CLARKE_RIGHT}, {CLARKE_RIGHT, CLARKE_LEFT, CLARKE_LEFT},
                                            {CLARKE_RIGHT, CLARKE_RIGHT, CLARKE_LEFT}, {CLARKE_RIGHT, CLARKE_LEFT, CLARKE_RIGHT}};
  static const struct {
    size_t first, n, chosen;
  } from[] = {{0, 2, 2}, {1, 3, 0}, {0, 1, 0}, {2, 2, 0}, {0, 4, 2}};
  clarke_cell cell[4];
  clarke_balance b;
  asked a;
  size_t chosen[4], n;
  bool split[3], behind, known;

  ask_factors(&a, "Elu 0 1\nRelu 0 0\n");
  for (size_t i = 0; i < 4; i++) {
    clarke_cell_init(&cell[i]);
    OK(clarke_cell_set(&cell[i], &a.question, sides[i], &error));
  }
  OK(clarke_slopes_split(split, &behind, &known, &a.question, cell, 1, NULL, &error));
  ck_assert(known && !behind && !split[0] && split[1] && split[2]);
  for (size_t i = 0; i < sizeof from / sizeof from[0]; i++) {
    clarke_balance_init(&b);
    OK(clarke_balance_find(&b, chosen, &n, &a.question, cell + from[i].first, from[i].n, ALL_EFFECT, &error));
    ck_assert_uint_eq(n, from[i].chosen);
    ck_assert(n == 0 || (b.n == 1 && b.cells[0] == 2));
    clarke_balance_clear(&b);
  }
  for (size_t i = 0; i < 4; i++)
    clarke_cell_clear(&cell[i]);
  asked_end(&a);
}
END_TEST

/* The matrices less others; one that is missing is 0. */
START_TEST(gradients_are_subtracted)
{
  asked a;
  clarke_matrix *x, *y;

  ask_factors(&a, "Elu 0 1\nRelu 0 0\n");
  x = clarke_matrices_new(a.graph.n_parameters);
  y = clarke_matrices_new(a.graph.n_parameters);
  OK(clarke_partial_gradient(y, &a.question, (const clarke_branch[]){CLARKE_RIGHT, CLARKE_LEFT, CLARKE_LEFT}, &error));
  OK(clarke_gradients_subtract(x, y, &a.graph, &error));
  ck_assert_double_eq(clarke_matrix_get_double(&x[0], 0, 0), -2);
  OK(clarke_gradients_subtract(y, y, &a.graph, &error));
  ck_assert(clarke_matrix_is_zero(&y[0]));
  clarke_matrices_free(x, a.graph.n_parameters);
  clarke_matrices_free(y, a.graph.n_parameters);
  asked_end(&a);
}
END_TEST

/* Changes of about 10^300, and of 10^400, which no double holds: of these it is not told whether they cancel. */
START_TEST(changes_may_be_no_doubles)
{
  asked a;

  asked_begin(&a, 3, 1, NUMBERS(2, -1, -1));
  weight(&a, "w", SHAPE(1,), NUMBERS(0));
  weight(&a, "c", SHAPE(1,), _i == 0 ? NUMBERS(1e150) : NUMBERS(1e200));
  node(&a, "Elu", "x", "y");
  node(&a, "Mul", "y,w", "v");
  node(&a, "Relu", "v", "r");
  node(&a, "Mul", "r,c", "s");
  node(&a, "Mul", "s,c", "out");
  a.profile = "Elu 0 1\nRelu 0 0\n";
  a.wrt = "w";
  ask(&a, "out");
  verdict_is(&a, _i == 0 ? CLARKE_IN_CLARKE : CLARKE_UNDECIDED);
  asked_end(&a);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("balance");

  tcase_add_test(tests, weights_are_irrational);
  tcase_add_test(tests, behind_a_log_softmax);
  tcase_add_test(tests, groups_have_own_weights);
  tcase_add_test(tests, cells_are_chosen);
  tcase_add_test(tests, gradients_are_subtracted);
  tcase_add_loop_test(tests, changes_may_be_no_doubles, 0, 2);
  return run_tests();
}
