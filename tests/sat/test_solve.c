/* The solver beside brute force; every refutation step followed by its hints, and each hint needed. */
#include "formulas.h"
#include "sat/solve.h"
#include "steps.h"

/* Every step but the last is some step's hint. */
static void
require_trimmed(const clarke_sat_refutation *r)
{
  bool *used = calloc(r->n, sizeof *used);

  for (size_t h = 0; h < r->first_hint[r->n]; h++)
    if (r->hint[h] > r->n_given)
      used[r->hint[h] - r->n_given - 1] = true;
  for (size_t k = 0; k + 1 < r->n; k++)
    if (!used[k])
      ck_abort_msg("step %zu of %zu is of no use", k, r->n);
  free(used);
}

static void
require_refutation(const clarke_three *t, const clarke_sat_refutation *r)
{
  const steps s = {t, r};

  ck_assert_uint_eq(r->n_given, t->n_clauses);
  ck_assert_uint_gt(r->n, 0);
  ck_assert_uint_eq(r->first_literal[r->n], r->first_literal[r->n - 1]); /* the last is empty */
  for (size_t k = 0; k < r->n; k++)
    if (!step_holds(&s, k))
      ck_abort_msg("step %zu of %zu does not follow", k, r->n);
  require_trimmed(r);
}

static clarke_formula_answer
solve(const clarke_cnf *f, size_t *conflicts)
{
  clarke_three t;
  clarke_solution s;
  clarke_formula_answer answer;
  size_t clause;

  clarke_three_init(&t);
  clarke_solution_init(&s);
  OK(clarke_three_make(&t, f, &error));
  OK(clarke_solve(&s, &t, SIZE_MAX, &error));
  answer = s.answer;
  *conflicts += s.conflicts;
  ck_assert_int_ne(answer, CLARKE_FORMULA_GIVEN_UP);
  if (answer == CLARKE_FORMULA_REFUTED)
    require_refutation(&t, &s.refutation);
  else
    ck_assert(three_holds(&t, s.value) && clarke_cnf_holds(f, s.value, &clause));
  clarke_solution_clear(&s);
  clarke_three_clear(&t);
  return answer;
}

/* Clauses of all lengths: units, tautologies, empty ones. */
START_TEST(small)
{
  uint64_t state = 6;
  size_t satisfied = 0, conflicts = 0;

  for (int k = 0; k < 2000; k++) {
    const size_t n = 1 + draw_below(&state, 6);
    clarke_cnf f = draw_formula(&state, n, draw_below(&state, 5 * n), k % 20 == 0 ? 0 : 1, 4);
    const bool yes = can_be_satisfied(&f);

    ck_assert_int_eq(solve(&f, &conflicts) == CLARKE_FORMULA_SATISFIED, yes);
    satisfied += yes;
    clarke_cnf_clear(&f);
  }
  ck_assert(satisfied > 500 && satisfied < 1500);
}
END_TEST

/* At the threshold, with up to 20 variables. */
START_TEST(threshold)
{
  uint64_t state = 7;
  size_t satisfied = 0, conflicts = 0;

  for (int k = 0; k < 200; k++) {
    const size_t n = 4 + draw_below(&state, 17);
    clarke_cnf f = draw_three(&state, n, (426 * n + 50) / 100);
    const bool yes = can_be_satisfied(&f);

    ck_assert_int_eq(solve(&f, &conflicts) == CLARKE_FORMULA_SATISFIED, yes);
    satisfied += yes;
    clarke_cnf_clear(&f);
  }
  ck_assert(satisfied > 50 && satisfied < 190);
}
END_TEST

/* Large enough for restarts, reductions and many levels. */
START_TEST(larger)
{
  uint64_t state = 8;
  size_t conflicts = 0;

  for (int k = 0; k < 3; k++) {
    clarke_cnf f = draw_three(&state, 180, 800);

    solve(&f, &conflicts);
    clarke_cnf_clear(&f);
  }
  ck_assert_uint_gt(conflicts, 6000); /* beyond the first reductions */
}
END_TEST

START_TEST(gives_up)
{
  uint64_t state = 9;
  clarke_cnf f = draw_three(&state, 140, 640);
  clarke_three t;
  clarke_solution s;

  clarke_three_init(&t);
  clarke_solution_init(&s);
  OK(clarke_three_make(&t, &f, &error));
  OK(clarke_solve(&s, &t, 10000, &error));
  ck_assert_int_eq(s.answer, CLARKE_FORMULA_GIVEN_UP);
  ck_assert(s.work >= 10000 && s.work < 20000);
  clarke_solution_clear(&s);
  clarke_three_clear(&t);
  clarke_cnf_clear(&f);
}
END_TEST

int
main(void)
{
  TCase *tc = tests_of("solve");

  tcase_add_test(tc, small);
  tcase_add_test(tc, threshold);
  tcase_add_test(tc, larger);
  tcase_add_test(tc, gives_up);
  return run_tests();
}
