/* DIMACS files, and clauses rewritten to three literals. */
#include "formulas.h"

static clarke_status
parse(clarke_cnf *f, const char *text)
{
  clarke_cnf_clear(f);
  return clarke_dimacs_parse(f, text, strlen(text), "f.cnf", &error);
}

START_TEST(reads)
{
  clarke_cnf f;

  clarke_cnf_init(&f);
  OK(parse(&f, "c first\nc\n  c indented\np cnf 3 4\n1 -3 0 2\n3 -1 0\nc within\n0\t-2\r\n0\nc last"));
  ck_assert_uint_eq(f.n_variables, 3);
  ck_assert_uint_eq(f.n_clauses, 4);
  ck_assert_uint_eq(f.n_literals, 6);
  ck_assert_int_eq(f.literal[1], -3);
  ck_assert_uint_eq(f.first[2] - f.first[1], 3);
  ck_assert_uint_eq(f.first[3] - f.first[2], 0); /* the empty clause */
  ck_assert_int_eq(f.literal[5], -2);
  OK(parse(&f, "p cnf 0 0"));
  ck_assert_uint_eq(f.n_clauses, 0);
  OK(parse(&f, " p  cnf 5 1 \n 0"));
  ck_assert_uint_eq(f.n_variables, 5);
  clarke_cnf_clear(&f);
}
END_TEST

static const struct {
  const char *text, *message;
} bad[] = {
  { "", "f.cnf:1: no formula, expected the line 'p cnf VARIABLES CLAUSES'" },
  { "c only\n", "f.cnf:2: no formula, expected the line 'p cnf VARIABLES CLAUSES'" },
  { "p cnf 3", "f.cnf:1: the header is cut off, expected the line 'p cnf VARIABLES CLAUSES'" },
  { "p\ncnf 3 1\n", "f.cnf:1: the header is cut off, expected the line 'p cnf VARIABLES CLAUSES'" },
  { "cnf 2 1\n1 2 0\n", "f.cnf:2: the first word outside comments (lines that begin with c) is '1', expected the line 'p cnf VARIABLES CLAUSES'" },
  { "1 2 0\n", "f.cnf:1: the first word outside comments (lines that begin with c) is '1', expected the line 'p cnf VARIABLES CLAUSES'" },
  { "1 2 3 0\n", "f.cnf:1: the first word outside comments (lines that begin with c) is '1', expected the line 'p cnf VARIABLES CLAUSES'" },
  { "p wcnf 3 1\n", "f.cnf:1: 'p wcnf', expected the line 'p cnf VARIABLES CLAUSES'" },
  { "p cnf -3 1\n", "f.cnf:1: '-3' variables, expected a number up to 1073741824" },
  { "p cnf 1073741825 1\n", "f.cnf:1: '1073741825' variables, expected a number up to 1073741824" },
  { "p cnf 3 x\n", "f.cnf:1: 'x' clauses, expected a number up to 1073741824" },
  { "p cnf 3 1 2\n", "f.cnf:1: '2' after the header, expected the end of the line" },
  { "p cnf 3 1\n1 c 0\n", "f.cnf:2: 'c' is no literal, expected a number from -3 to 3" },
  { "p cnf 3 1\n1 4 0\n", "f.cnf:2: '4' is no literal, expected a number from -3 to 3" },
  { "p cnf 3 1\n1 -4 0\n", "f.cnf:2: '-4' is no literal, expected a number from -3 to 3" },
  { "p cnf 3 1\n1 +2 0\n", "f.cnf:2: '+2' is no literal, expected a number from -3 to 3" },
  { "p cnf 3 1\n1 2 -0\n", "f.cnf:2: '-0' is no literal, expected a number from -3 to 3" },
  { "p cnf 3 1\n1 99999999999999999999 0\n", "f.cnf:2: '99999999999999999999' is no literal, expected a number from -3 to 3" },
  { "p cnf 3 1\n1 2\x01 0\n", "f.cnf:2: '2?' is no literal, expected a number from -3 to 3" },
  { "p cnf 3 1\n1 2 0\n%\n0\n",
    "f.cnf:3: '%' is no literal (some collections end their files so: leave out the file from this line on)" },
  { "p cnf 3 1\n1 2 0\np cnf 3 1\n", "f.cnf:3: a second header 'p', expected a literal or 0" },
  { "p cnf 3 1\n1 2 0\n\n3 0\n", "f.cnf:4: more clauses than the 1 of the header" },
  { "p cnf 3 2\n1 2 0\n", "f.cnf:3: 1 clauses, the header says 2" },
  { "p cnf 3 1\n1\n2\n\n", "f.cnf:5: the last clause, on line 3, has no 0 at its end" },
};

START_TEST(refuses)
{
  clarke_cnf f;

  clarke_cnf_init(&f);
  ck_assert_int_eq(parse(&f, bad[_i].text), CLARKE_EINPUT);
  ck_assert_str_eq(error.text, bad[_i].message);
  ck_assert_ptr_null(f.literal);
  ck_assert_uint_eq(f.n_clauses, 0);
}
END_TEST

static clarke_three
three_of(clarke_cnf f)
{
  clarke_three t;

  clarke_three_init(&t);
  OK(clarke_three_make(&t, &f, &error));
  clarke_cnf_clear(&f);
  return t;
}

static void
clause_is(const clarke_three *t, size_t c, int a, int b, int d)
{
  ck_assert_int_eq(t->clause[c][0], a);
  ck_assert_int_eq(t->clause[c][1], b);
  ck_assert_int_eq(t->clause[c][2], d);
}

START_TEST(rewrites)
{
  clarke_three t = three_of(FORMULA(5, 1, 1, 0, 2, -3, 2, 0, 0, 1, -2, 3, -4, 5, 0, 4, -4, 0, ));

  ck_assert_uint_eq(t.n_clauses, 8);
  clause_is(&t, 0, 1, 1, 1);
  clause_is(&t, 1, 2, -3, -3);
  clause_is(&t, 2, 1, 1, 1);
  clause_is(&t, 3, -1, -1, -1);
  clause_is(&t, 4, 1, -2, 6);
  clause_is(&t, 5, -6, 3, 7);
  clause_is(&t, 6, -7, -4, 5);
  clause_is(&t, 7, 4, -4, -4);
  ck_assert_uint_eq(t.n_own, 5);
  ck_assert_uint_eq(t.n_variables, 7);
  ck_assert_uint_eq(t.repeated, 2);
  ck_assert_uint_eq(t.one, 1);
  ck_assert_uint_eq(t.two, 2);
  ck_assert_uint_eq(t.empty, 1);
  ck_assert_uint_eq(t.split, 1);
  ck_assert_uint_eq(t.tautologies, 1);
  ck_assert_uint_eq(t.padding, 0);
  clarke_three_clear(&t);
  t = three_of(FORMULA(0, ));
  ck_assert_uint_eq(t.n_clauses, 1);
  ck_assert_uint_eq(t.n_variables, 1);
  ck_assert_uint_eq(t.padding, 1);
  clause_is(&t, 0, 1, -1, -1);
  clarke_three_clear(&t);
  t = three_of(FORMULA(3, 1, 2, 3, 0, 1, 2, -3, 0, 1, -2, 3, 0, ));
  ck_assert_uint_eq(t.n_clauses, 4);
  clause_is(&t, 3, 1, -1, -1);
  clarke_three_clear(&t);
}
END_TEST

/* Every assignment of the formula's own variables that satisfies it extends; and no other does. */
START_TEST(means_the_same)
{
  uint64_t state = 1;
  bool value[24];
  size_t clause, satisfied = 0;

  for (int k = 0; k < 300; k++) {
    clarke_cnf f = draw_formula(&state, 1 + draw_below(&state, 4), draw_below(&state, 4), 0, 6);
    clarke_three t;

    clarke_three_init(&t);
    OK(clarke_three_make(&t, &f, &error));
    for (size_t a = 0; a < (size_t)1 << t.n_own; a++) {
      bool extends = false;

      for (size_t b = 0; b < (size_t)1 << (t.n_variables - t.n_own) && !extends; b++) {
        assignment_of(value, t.n_variables, a | b << t.n_own);
        extends = three_holds(&t, value);
      }
      assignment_of(value, t.n_variables, a);
      if (extends != clarke_cnf_holds(&f, value, &clause))
        ck_abort_msg("formula %d, assignment %zu", k, a);
      satisfied += extends;
    }
    clarke_three_clear(&t);
    clarke_cnf_clear(&f);
  }
  ck_assert_uint_gt(satisfied, 200);
}
END_TEST

START_TEST(too_many_variables)
{
  clarke_cnf f = FORMULA(1 << 29, 1, 0, );
  clarke_three t;

  clarke_three_init(&t);
  ck_assert_int_eq(clarke_three_make(&t, &f, &error), CLARKE_ENOMEM);
  ck_assert_ptr_nonnull(strstr(error.text, "a formula of 536870912 variables"));
  clarke_three_clear(&t);
  clarke_cnf_clear(&f);
}
END_TEST

int
main(void)
{
  TCase *tc = tests_of("formulas");

  tcase_add_test(tc, reads);
  tcase_add_loop_test(tc, refuses, 0, sizeof bad / sizeof *bad);
  tcase_add_test(tc, rewrites);
  tcase_add_test(tc, means_the_same);
  tcase_add_test(tc, too_many_variables);
  return run_tests();
}
