/* Structures of formulas broken by hand are noticed. */
#include "../valid/break.h"
#include "formulas.h"
#include "sat/network.h"
#include "sat/solve.h"

static clarke_three t;

static void
begin(void)
{
  clarke_cnf f = FORMULA(3, 1, 2, 3, 0, -1, 0, -2, 0, -3, 1, 0, );

  clarke_three_init(&t);
  OK(clarke_three_make(&t, &f, &error));
  clarke_cnf_clear(&f);
}

static void
end(void)
{
  clarke_three_clear(&t);
}

START_TEST(clauses)
{
  BREAK(clarke_three_is_valid(&t), t.n_clauses, 3);
  BREAK(clarke_three_is_valid(&t), t.n_clauses, 0);
  BREAK(clarke_three_is_valid(&t), t.n_variables, 2);
  BREAK(clarke_three_is_valid(&t), t.n_own, 4);
  BREAK(clarke_three_is_valid(&t), t.clause[3][2], 0);
  BREAK(clarke_three_is_valid(&t), t.clause[3][2], -4);
}
END_TEST

START_TEST(networks)
{
  clarke_sign_network net;

  clarke_sign_network_init(&net);
  OK(clarke_sign_network_make(&net, &t, &error));
  BREAK(clarke_sign_network_is_valid(&net), net.n_inputs, 4);
  BREAK(clarke_sign_network_is_valid(&net), net.n_matrices, 3);
  BREAK(clarke_sign_network_is_valid(&net), net.matrix[5].n_rows, 0);
  BREAK(clarke_sign_network_is_valid(&net), net.matrix[1].n_columns, 23);
  BREAK(clarke_sign_network_is_valid(&net), net.matrix[0].row[0].entry[0], 2);
  BREAK(clarke_sign_network_is_valid(&net), net.matrix[0].row[0].column[0], 1);
  BREAK(clarke_sign_network_is_valid(&net), net.matrix[0].row[0].column[1], 3);
  BREAK(clarke_sign_network_is_valid(&net), net.matrix[0].row[0].n, 7);
  clarke_sign_network_clear(&net);
}
END_TEST

START_TEST(refutations)
{
  clarke_solution s;
  clarke_sat_refutation *r = &s.refutation;

  clarke_solution_init(&s);
  OK(clarke_solve(&s, &t, SIZE_MAX, &error));
  ck_assert_int_eq(s.answer, CLARKE_FORMULA_REFUTED);
  ck_assert_uint_gt(r->n, 1);
  BREAK(clarke_refutation_is_valid(r), r->n, 0);
  BREAK(clarke_refutation_is_valid(r), r->n_literals, 0);
  BREAK(clarke_refutation_is_valid(r), r->n_hints, 0);
  BREAK(clarke_refutation_is_valid(r), r->first_literal[0], 1);
  BREAK(clarke_refutation_is_valid(r), r->first_literal[1], 0); /* an empty clause before the last */
  BREAK(clarke_refutation_is_valid(r), r->first_hint[1], 0);
  BREAK(clarke_refutation_is_valid(r), r->hint[0], 0);
  BREAK(clarke_refutation_is_valid(r), r->hint[0], 5); /* itself */
  BREAK(clarke_refutation_is_valid(r), r->literal[0], 0);
  clarke_solution_clear(&s);
}
END_TEST

int
main(void)
{
  TCase *tc = tests_of("broken");

  tcase_add_checked_fixture(tc, begin, end);
  tcase_add_test(tc, clauses);
  tcase_add_test(tc, networks);
  tcase_add_test(tc, refutations);
  return run_tests();
}
