/* Executions, walks and Lipschitz continuity of small programs given as text, beside what is known of them by hand. */
#include "executed.h"

#include "program/lipschitz.h"
#include "program/walk.h"

#include <flint/fmpq.h>

/* --- walks --- */

/* The choice's k-th decision has this gradient in two inputs, and is affine. */
static void
decision_is(const clarke_walk *w, size_t choice, size_t k, long a, long b)
{
  clarke_number *g = clarke_numbers(2);
  uint8_t degree;

  clarke_walk_decision(g, &degree, w, choice, k);
  ck_assert(is(&g[0], a) && is(&g[1], b) && degree == 1);
  clarke_numbers_free(g, 2);
}

static clarke_walk_state
on(clarke_walk *w)
{
  clarke_walk_state state;

  OK(clarke_walk_on(w, &state, &error));
  return state;
}

static const char bent[] = "input x, y\nlet a = relu(x)\noutput max(a, y) + 2*x";

/* The output's gradient at the end. */
static void
ends_with(clarke_walk *w, const executed *x, long a, long b)
{
  const size_t out = x->p.output[0];

  ck_assert_int_eq(on(w), CLARKE_WALK_END);
  ck_assert(is(&w->gradient[out][0], a) && is(&w->gradient[out][1], b));
  ck_assert(is(&w->value[out], 0));
}

START_TEST(a_walk_stops_at_every_fork)
{
  executed x;
  clarke_walk w;

  begin(&x, bent, 0, 0);
  OK(clarke_walk_init(&w, &x.e, NULL, 0, &error));
  for (int turn = 0; turn < 4; turn++) {
    ck_assert_int_eq(on(&w), CLARKE_WALK_FORK);
    ck_assert(!w.fork.order && w.fork.n_choices == 2 && w.fork.y[1] == CLARKE_NONE);
    ck_assert_uint_eq(clarke_walk_decisions(&w), 1);
    decision_is(&w, 0, 0, -1, 0);
    decision_is(&w, 1, 0, 1, 0);
    clarke_walk_choose(&w, turn / 2);
    ck_assert_int_eq(on(&w), CLARKE_WALK_FORK);
    ck_assert(w.fork.order && !w.fork.up && w.fork.n_choices == 2);
    decision_is(&w, 0, 0, turn / 2, -1); /* a - y, a being x or 0 */
    decision_is(&w, 1, 0, -(turn / 2), 1);
    clarke_walk_choose(&w, turn % 2);
    ends_with(&w, &x, 2 + (turn == 2), turn % 2);
    clarke_walk_restart(&w, NULL);
  }
  clarke_walk_clear(&w);
  end(&x);
}
END_TEST

START_TEST(an_arc_takes_its_choices)
{
  static const struct {
    long direction[2];
    size_t kink, tie;
    long gradient[2];
  } known[] = {{{1, 2}, 1, 1, {2, 1}}, {{2, 1}, 1, 0, {3, 0}}, {{-1, 2}, 0, 1, {2, 1}}, {{-1, -2}, 0, 0, {2, 0}}};
  mpq_t *arc = clarke_rationals(2);
  executed x;
  clarke_walk w;

  begin(&x, bent, 0, 0);
  OK(clarke_walk_init(&w, &x.e, &arc, 1, &error));
  for (size_t i = 0; i < 4; i++) {
    for (size_t k = 0; k < 2; k++)
      mpq_set_si(arc[k], known[i].direction[k], 1);
    ck_assert_int_eq(on(&w), CLARKE_WALK_FORK);
    ck_assert_uint_eq(clarke_walk_arc_choice(&w), known[i].kink);
    clarke_walk_choose(&w, known[i].kink);
    ck_assert_int_eq(on(&w), CLARKE_WALK_FORK);
    ck_assert_uint_eq(clarke_walk_arc_choice(&w), known[i].tie);
    clarke_walk_choose(&w, known[i].tie);
    ends_with(&w, &x, known[i].gradient[0], known[i].gradient[1]);
    clarke_walk_restart(&w, &arc);
  }
  mpq_set_si(arc[0], 0, 1); /* along it the argument stays at its kink */
  ck_assert_int_eq(on(&w), CLARKE_WALK_FORK);
  ck_assert_uint_eq(clarke_walk_arc_choice(&w), CLARKE_NONE);
  clarke_walk_clear(&w);
  clarke_rationals_free(arc, 2);
  end(&x);
}
END_TEST

START_TEST(identical_entries_do_not_part)
{
  const clarke_instruction *order;
  executed x;
  clarke_walk w;

  begin(&x, "input x, y\noutput max(x*x - y*y, (x - y)*(x + y))", 1, 1);
  OK(clarke_walk_init(&w, &x.e, NULL, 0, &error));
  ck_assert_int_eq(on(&w), CLARKE_WALK_END);
  order = &x.p.instruction[x.p.output[0]];
  ck_assert_int_eq(order->kind, CLARKE_DO_ORDER);
  ck_assert(clarke_walk_identical(&w, order->in[0], order->in[1]));
  clarke_walk_clear(&w);
  end(&x);
}
END_TEST

/* --- executions --- */

START_TEST(partials_at_a_kink_are_the_proxys)
{
  clarke_number *d = clarke_numbers(3);
  const clarke_touched *t;
  clarke_profile profile;
  executed x;
  size_t order;

  begin(&x, "input x, y\noutput max{first}(2, x, y) + abs(x - y)", 2, 2);
  clarke_profile_init(&profile);
  OK(clarke_profile_load(&profile, "pytorch-2.13", &error));
  ck_assert_uint_eq(x.e.n_touched, 2);
  for (size_t i = 0; i < 2; i++)
    ck_assert_ptr_eq(clarke_touched_find(&x.e, x.e.touched[i].instruction), &x.e.touched[i]);
  ck_assert_ptr_null(clarke_touched_find(&x.e, x.p.output[0]));
  for (order = 0; x.p.instruction[order].kind != CLARKE_DO_ORDER;)
    order++;
  t = clarke_touched_find(&x.e, order);
  ck_assert(t->n_tied == 3 && t->tied[0] == 0 && t->tied[2] == 2);
  OK(clarke_partials(d, &x.e, order, &profile, &error));
  ck_assert(is(&d[0], 1) && is(&d[1], 0) && is(&d[2], 0)); /* the first */
  for (size_t i = 0; i < 2; i++)
    if (x.e.touched[i].instruction != order) {
      OK(clarke_partials(d, &x.e, x.e.touched[i].instruction, &profile, &error));
      ck_assert(is(&d[0], 0));
    }
  clarke_profile_clear(&profile);
  clarke_numbers_free(d, 3);
  end(&x);
}
END_TEST

/* --- Lipschitz continuity --- */

static const struct {
  const char *text;
  long a, b;
  bool known;
} functions[] = {
  {"input x, y\noutput relu(x) + abs(y)*x", 0, 0, true},
  {"input x, y\noutput if x > 0 then x else 0", 0, 0, true},
  {"input x, y\noutput if x > 0 then 1 else 0", 0, 0, false},
  {"input x, y\noutput if x > 0 then 1 else 0", 1, 0, true},
  {"input x, y\noutput if x > y then x*x else x*y", 1, 1, true},
  {"input x, y\noutput if x > y then x*x else y*y + 1 - y", 1, 1, false},
  {"input x, y\noutput if x > y then x*x else y*y", 1, 1, true},
  {"input x, y\noutput if x > y then x*x else 2*y", 1, 1, false},
  {"input x, y\noutput if x > y then x*x else 2*y", 0, 0, false},
  {"input x, y\noutput sqrt(x)", 0, 0, false},
  {"input x, y\noutput sqrt(x)", 1, 0, true},
  {"input x, y\noutput relu(sqrt(x*x + y*y))", 0, 0, false},
  {"input x, y\noutput norm2(x, y)", 0, 0, true},
  /* what is constant near the point */
  {"input x, y\noutput sqrt(relu(x))", -1, 0, true},
  {"input x, y\noutput sqrt(relu(x))", 0, 0, false},
  {"input x, y\noutput sqrt(0*x)", 0, 0, true},
  {"input x, y\noutput sqrt(abs(x) - x)", 1, 0, true},
  {"input x, y\noutput sqrt(abs(x) - x)", 0, 0, false},
  {"input x, y\noutput sqrt(abs(x) - x + relu(y))", 1, 0, false},
  {"input x, y\noutput sqrt(relu(x)*exp(y) + relu(x)/exp(y))", -1, 0, true},
  {"input x, y\noutput sqrt(exp(relu(x)) - 1)", -1, 0, true},
  {"input x, y\noutput sqrt(max(relu(x), 0, y - 1))", -1, 0, true},
  {"input x, y\noutput sqrt(max(relu(x), 0, y - 1))", -1, 1, false},
  {"input x, y\noutput sqrt(relu6(x) - 6)", 7, 0, true},
  {"input x, y\noutput sqrt(6 - relu6(x))", 6, 0, false},
  {"input x, y\noutput sqrt((abs(x) + y)*(x - y) - x*x + y*y)", 2, 1, true},
  {"input x, y\noutput sqrt(hardswish(x) - x*x/6 - x/2)", 1, 1, true},
  {"input x, y\noutput sqrt(y/(1 + relu(x)) - y)", -1, 1, true},
  {"input x, y\noutput sqrt(if relu(x) > 0 then y else 0)", -1, 1, true},
  {"input x, y\noutput if relu(x) > 0 then sqrt(x + 1) else y", -1, 1, true},
  {"input x, y\noutput if abs(x) - x > 0 then 5 else y", 1, 1, true},
  {"input x, y\noutput if abs(x) - x > 0 then 5 else y", 0, 1, false},
};

START_TEST(what_is_known_to_be_lipschitz_is)
{
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    char why[CLARKE_LIPSCHITZ_WHY] = "";
    executed x;
    bool known;
    size_t far;

    begin(&x, functions[i].text, functions[i].a, functions[i].b);
    OK(clarke_lipschitz(&known, why, &far, &x.e, &error));
    ck_assert_msg(known == functions[i].known, "%s at (%ld, %ld): %s", functions[i].text, functions[i].a, functions[i].b, why);
    ck_assert_msg(known || *why != '\0', "%s", functions[i].text);
    end(&x);
  }
}
END_TEST

START_TEST(arguments_out_of_the_checkers_reach_are_told)
{
  char why[CLARKE_LIPSCHITZ_WHY];
  executed x;
  bool known;
  size_t far;

  begin(&x, "input x, y\noutput exp(x)", 1 << (CLARKE_REACH_EXP - 1), 0);
  OK(clarke_lipschitz(&known, why, &far, &x.e, &error));
  ck_assert(known && far == CLARKE_NONE);
  end(&x);
  begin(&x, "input x, y\noutput exp(x)", 1 << (CLARKE_REACH_EXP + 1), 0);
  OK(clarke_lipschitz(&known, why, &far, &x.e, &error));
  ck_assert(known && far == x.p.output[0]);
  end(&x);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("walk");
  int failed;

  tcase_add_test(tests, a_walk_stops_at_every_fork);
  tcase_add_test(tests, an_arc_takes_its_choices);
  tcase_add_test(tests, identical_entries_do_not_part);
  tcase_add_test(tests, partials_at_a_kink_are_the_proxys);
  tcase_add_test(tests, what_is_known_to_be_lipschitz_is);
  tcase_add_test(tests, arguments_out_of_the_checkers_reach_are_told);
  failed = run_tests();
  flint_cleanup();
  return failed;
}
