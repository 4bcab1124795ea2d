/* Derivatives along directions, of small programs given as text, beside what is known of them by hand. Drawn ones are asked about by
 * tests/tools/directions.py. */
#include "executed.h"

#include "program/convex.h"
#include "program/directional.h"
#include "program/walk.h"

#include "../suite.h"

static clarke_directional found;
static mpq_t **lines;
static clarke_profile pytorch;

/* At a, b, along n directions in x and y. */
static void
ask(executed *x, const char *text, long a, long b, size_t n, const long (*line)[2])
{
  begin(x, text, a, b);
  clarke_profile_init(&pytorch);
  OK(clarke_profile_load(&pytorch, "pytorch", &error));
  lines = calloc(n, sizeof *lines);
  for (size_t k = 0; k < n; k++) {
    lines[k] = clarke_rationals(2);
    for (size_t e = 0; e < 2; e++)
      mpq_set_si(lines[k][e], line[k][e], 1);
  }
  clarke_directional_init(&found);
  OK(clarke_directional_find(&found, &x->p, x->at, lines, n, &pytorch, &error));
}

static void
done(executed *x)
{
  for (size_t k = 0; k < found.n; k++)
    clarke_rationals_free(lines[k], 2);
  free(lines);
  clarke_directional_clear(&found);
  clarke_profile_clear(&pytorch);
  end(x);
}

START_TEST(a_direction_leaves_ties_to_the_next)
{
  const long along[][2] = {{1, 1}, {1, 0}}, back[][2] = {{1, 1}, {0, 1}};
  executed x;

  ask(&x, "input x, y\noutput max(x, y) + abs(x - y)", 0, 0, 2, along);
  ck_assert(found.known && is(&found.derivative[0], 1) && is(&found.derivative[1], 2));
  ck_assert(found.turn[0].line == 1 && found.turn[0].side == 0 && found.turn[1].line == 1 && found.turn[1].side == 1);
  ck_assert(found.agrees == CLARKE_NO && is(&found.ad[0], 1));
  done(&x);
  ask(&x, "input x, y\noutput max(x, y) + abs(x - y)", 0, 0, 2, back);
  ck_assert(found.known && is(&found.derivative[0], 1) && is(&found.derivative[1], 2) && found.turn[0].side == 1);
  done(&x);
}
END_TEST

START_TEST(what_no_direction_tells_makes_no_difference)
{
  const long along[][2] = {{1, 1}};
  executed x;

  ask(&x, "input x, y\noutput relu(x*y) + max(x, y) + 5*relu(x - y)", 0, 0, 1, along);
  ck_assert(found.known && is(&found.derivative[0], 1) && found.agrees == CLARKE_YES);
  for (size_t t = 0; t < 3; t++)
    ck_assert_uint_eq(found.turn[t].line, CLARKE_NONE);
  done(&x);
  /* a branch may then do either, though a polynomial that a kink hides is 0 along the line */
  ask(&x, "input x, y\nlet a = relu(x*y)\noutput if a > 0 then a + x else x", 0, 0, 1, along);
  ck_assert(!found.known && found.why[0] != '\0');
  done(&x);
}
END_TEST

START_TEST(norms_of_zeros_go_the_first_way_that_moves_them)
{
  const long along[][2] = {{3, 4}, {1, 0}, {0, 1}}, still[][2] = {{0, 1}, {2, 0}};
  executed x;

  ask(&x, "input x, y\noutput norm2(x, y)", 0, 0, 3, along);
  ck_assert(found.known && is(&found.derivative[0], 5) && mpq_cmp_si(found.derivative[1].q, 3, 5) == 0);
  ck_assert(mpq_cmp_si(found.derivative[2].q, 4, 5) == 0 && found.turn[0].line == 0);
  done(&x);
  ask(&x, "input x, y\noutput norm2(3*x, 4*x)", 0, 0, 2, still);
  ck_assert(found.known && is(&found.derivative[0], 0) && is(&found.derivative[1], 10) && found.turn[0].line == 1);
  done(&x);
}
END_TEST

START_TEST(what_may_not_be_lipschitz_is_left_undecided)
{
  const long along[][2] = {{1, 0}};
  executed x;

  ask(&x, "input x, y\noutput if x > 0 then y + 1 else y", 0, 0, 1, along);
  ck_assert(!found.known && found.agrees == CLARKE_UNKNOWN);
  done(&x);
  ask(&x, "input x, y\noutput sqrt(x)", 0, 0, 1, along);
  ck_assert(!found.known);
  done(&x);
}
END_TEST

START_TEST(a_walk_along_lines_has_their_numbers_for_gradients)
{
  const long along[][2] = {{2, 1}, {0, -1}};
  mpq_t *line[2];
  executed x;
  clarke_walk w;
  clarke_walk_state state;
  size_t told;

  begin(&x, "input x, y\noutput relu(x - 2*y)", 0, 0);
  for (size_t k = 0; k < 2; k++) {
    line[k] = clarke_rationals(2);
    for (size_t e = 0; e < 2; e++)
      mpq_set_si(line[k][e], along[k][e], 1);
  }
  OK(clarke_walk_init_lines(&w, &x.e, line, 2, &error));
  OK(clarke_walk_on(&w, &state, &error));
  ck_assert_int_eq(state, CLARKE_WALK_END);
  ck_assert(w.gradient[x.p.output[0]] != NULL && is(&w.gradient[x.p.output[0]][1], 2));
  ck_assert_int_eq(clarke_walk_sign_along(&told, &w, x.p.instruction[x.p.output[0]].in[0], CLARKE_NONE), 1);
  ck_assert_uint_eq(told, 1);
  clarke_walk_clear(&w);
  clarke_rationals_free(line[0], 2);
  clarke_rationals_free(line[1], 2);
  end(&x);
}
END_TEST

/* Two independent directions determine a subgradient, two that depend do not; a number that is not rational does not. */
START_TEST(a_convex_function_has_a_subgradient)
{
  const long both[][2] = {{1, 1}, {1, 0}}, one[][2] = {{1, 1}, {2, 2}};
  mpq_t *g = clarke_rationals(2);
  bool convex;
  executed x;

  ask(&x, "input x, y\noutput abs(x) + max(x, y)", 0, 0, 2, both);
  OK(clarke_convex_find(&convex, &found.execution, 0, &error));
  ck_assert(convex && clarke_gradient_along(g, lines, found.derivative, 2, 2));
  ck_assert(mpq_cmp_si(g[0], 2, 1) == 0 && mpq_sgn(g[1]) == 0);
  ck_assert(!clarke_gradient_along(g, lines, found.derivative, 1, 2));
  done(&x);
  ask(&x, "input x, y\noutput abs(x) + max(x, y)", 0, 0, 2, one);
  ck_assert(found.known && !clarke_gradient_along(g, lines, found.derivative, 2, 2));
  done(&x);
  ask(&x, "input x, y\noutput norm2(x, y) - abs(x)", 0, 0, 2, both);
  OK(clarke_convex_find(&convex, &found.execution, 0, &error));
  ck_assert(!convex && !clarke_gradient_along(g, lines, found.derivative, 2, 2));
  done(&x);
  clarke_rationals_free(g, 2);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("directional");
  int failed;

  tcase_add_test(tests, a_direction_leaves_ties_to_the_next);
  tcase_add_test(tests, what_no_direction_tells_makes_no_difference);
  tcase_add_test(tests, norms_of_zeros_go_the_first_way_that_moves_them);
  tcase_add_test(tests, what_may_not_be_lipschitz_is_left_undecided);
  tcase_add_test(tests, a_walk_along_lines_has_their_numbers_for_gradients);
  tcase_add_test(tests, a_convex_function_has_a_subgradient);
  failed = run_tests();
  flint_cleanup();
  return failed;
}
