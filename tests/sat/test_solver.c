/* The solver's parts, each beside all assignments: what propagates, what is learned, what is dropped. And steps of others' files. */
#include "formulas.h"
#include "format/clausal.h"
#include "sat/follow_inside.h"
#include "sat/solver.h"
#include "steps.h"

enum { MOST = 9 };

/* --- what is true ---------------------------------------------------------------------------- */

static bool
literal_holds(size_t assignment, int32_t literal)
{
  return (assignment >> (labs((long)literal) - 1) & 1) == (literal > 0);
}

static bool
clause_holds(size_t assignment, const int32_t *literal, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (literal_holds(assignment, literal[i]))
      return true;
  return false;
}

static bool
formula_holds(const clarke_three *t, size_t assignment)
{
  for (size_t c = 0; c < t->n_clauses; c++)
    if (!clause_holds(assignment, t->clause[c], 3))
      return false;
  return true;
}

/* Does every assignment of the formula satisfy the clause? */
static bool
follows(const clarke_three *t, const int32_t *literal, size_t n)
{
  for (size_t a = 0; a < (size_t)1 << t->n_variables; a++)
    if (formula_holds(t, a) && !clause_holds(a, literal, n))
      return false;
  return true;
}

/* Each follows from the formula, and by its hints. */
static void
check_steps(const clarke_three *t, const clarke_sat_refutation *r)
{
  const steps s = {t, r};

  for (size_t k = 0; k < r->n; k++) {
    const size_t first = r->first_literal[k], n = r->first_literal[k + 1] - first;

    ck_assert(follows(t, n > 0 ? r->literal + first : NULL, n));
    ck_assert(step_holds(&s, k));
  }
}

/* --- a search, step by step ------------------------------------------------------------------ */

typedef struct {
  clarke_three t;
  clarke_sat_refutation steps;
  clarke_solver s;
  bool refuted; /* when it was loaded */
} scene;

static void
begin(scene *c, uint64_t *state)
{
  const size_t n = 3 + draw_below(state, MOST - 2);
  clarke_cnf f = draw_below(state, 4) == 0 ? draw_formula(state, n, draw_below(state, 4 * n), 1, 3)
                                           : draw_three(state, n, n + draw_below(state, 7 * n));

  clarke_three_init(&c->t);
  OK(clarke_three_make(&c->t, &f, &error));
  clarke_cnf_clear(&f);
  clarke_refutation_init(&c->steps);
  c->steps.n_given = c->t.n_clauses;
  ck_assert(clarke_solver_init(&c->s, c->t.n_variables, &c->steps));
  c->refuted = clarke_solver_load(&c->s, &c->t);
}

static void
end(scene *c)
{
  check_steps(&c->t, &c->steps);
  clarke_solver_clear(&c->s);
  clarke_refutation_clear(&c->steps);
  clarke_three_clear(&c->t);
}

static void
decide(clarke_solver *s, uint32_t literal)
{
  s->begin[s->n_levels++] = s->n_trail;
  clarke_solver_assign(s, literal, NO_CLAUSE, 0);
}

static int
value_of(const signed char *value, int32_t literal)
{
  return literal > 0 ? value[literal] : -value[-literal];
}

/* All that follows from what is decided and from the formula's clauses by propagation. False: some clause is false. */
static bool
close_naively(signed char *value, const clarke_three *t)
{
  for (bool more = true; more;) {
    more = false;
    for (size_t c = 0; c < t->n_clauses; c++) {
      int32_t open = 0;
      bool settled = false;

      for (size_t i = 0; i < 3; i++) {
        const int v = value_of(value, t->clause[c][i]);

        settled = settled || v > 0 || (v == 0 && open != 0 && open != t->clause[c][i]);
        open = v == 0 ? t->clause[c][i] : open;
      }
      if (settled)
        continue;
      if (open == 0)
        return false;
      value[labs((long)open)] = open > 0 ? 1 : -1;
      more = true;
    }
  }
  return true;
}

/* Without learned clauses the solver says what propagation says; back again, all is as it was. */
START_TEST(propagation)
{
  uint64_t state = 1;
  size_t conflicts = 0, followed = 0;

  for (int round = 0; round < 400; round++) {
    signed char value[2 * MOST + 64] = {0};
    scene c;

    begin(&c, &state);
    ck_assert_uint_lt(c.t.n_variables, sizeof value);
    if (!c.refuted && clarke_solver_propagate(&c.s) == NO_CLAUSE) {
      const size_t fixed = c.s.n_trail;
      bool good = close_naively(value, &c.t);

      ck_assert(good);
      while (good && c.s.n_trail < c.t.n_variables) {
        const uint32_t v = (uint32_t)draw_below(&state, c.t.n_variables), negated = draw(&state) & 1;
        const size_t before = c.s.n_trail;

        if (c.s.value[2 * v] != 0)
          continue;
        decide(&c.s, 2 * v + negated);
        value[v + 1] = negated ? -1 : 1;
        good = close_naively(value, &c.t);
        ck_assert_int_eq(clarke_solver_propagate(&c.s) == NO_CLAUSE, good);
        for (uint32_t u = 0; good && u < c.t.n_variables; u++)
          ck_assert(c.s.value[2 * u] == value[u + 1] && c.s.value[2 * u + 1] == -value[u + 1]);
        followed += c.s.n_trail - before - 1;
      }
      conflicts += !good;
      clarke_solver_back(&c.s, 0);
      ck_assert(c.s.n_trail == fixed && c.s.n_levels == 0 && c.s.propagated == fixed);
      for (uint32_t u = 0; u < c.t.n_variables; u++)
        ck_assert(c.s.value[2 * u] == 0 || c.s.level[u] == 0);
    }
    end(&c);
  }
  ck_assert(conflicts > 30 && followed > 300);
}
END_TEST

/* A learned clause follows, and says something on the level that it goes back to; in the end the answer is that of all
 * assignments. Half of what was learned is forgotten on the way. */
START_TEST(learning)
{
  uint64_t state = 2;
  size_t learned = 0, refuted = 0;

  for (int round = 0; round < 400; round++) {
    bool over = false, satisfied = false, there = false;
    scene c;

    begin(&c, &state);
    over = c.refuted;
    while (!over) {
      const uint32_t conflict = clarke_solver_propagate(&c.s);
      uint32_t v = 0;

      if (conflict != NO_CLAUSE) {
        over = !clarke_solver_learn(&c.s, conflict);
        learned += !over;
        if (!over)
          ck_assert(c.s.trail[c.s.n_trail - 1] == c.s.learned[0] && c.s.propagated < c.s.n_trail);
        continue;
      }
      if (c.s.conflicts % 3 == 2) {
        clarke_solver_back(&c.s, 0);
        if (c.s.propagated == c.s.n_trail) {
          clarke_solver_reduce(&c.s);
          c.s.conflicts++;
        }
        continue;
      }
      while (v < c.t.n_variables && c.s.value[2 * v] != 0)
        v++;
      over = satisfied = v == c.t.n_variables;
      if (!over)
        decide(&c.s, 2 * v + (uint32_t)(draw(&state) & 1));
    }
    ck_assert(!c.s.failed);
    for (size_t a = 0; a < (size_t)1 << c.t.n_variables; a++)
      there = there || formula_holds(&c.t, a);
    ck_assert_int_eq(satisfied, there);
    if (satisfied) {
      size_t a = 0;

      for (uint32_t u = 0; u < c.t.n_variables; u++)
        a |= (size_t)(c.s.value[2 * u] > 0) << u;
      ck_assert(formula_holds(&c.t, a));
    } else {
      refuted++;
      ck_assert(c.steps.n > 0 && c.steps.first_literal[c.steps.n] == c.steps.first_literal[c.steps.n - 1]);
    }
    end(&c);
  }
  ck_assert(learned > 300 && refuted > 100);
}
END_TEST

/* From decisions of one level that contradict the formula: a clause of some of them, negated, that follows. */
START_TEST(conclusions)
{
  uint64_t state = 3;
  size_t concluded = 0;

  for (int round = 0; round < 400; round++) {
    scene c;
    uint32_t conflict = NO_CLAUSE;

    begin(&c, &state);
    if (!c.refuted && clarke_solver_propagate(&c.s) == NO_CLAUSE) {
      bool decided[2 * (2 * MOST + 64)] = {false};

      c.s.begin[c.s.n_levels++] = c.s.n_trail;
      for (uint32_t v = 0; v < c.t.n_variables && conflict == NO_CLAUSE; v++) {
        const uint32_t literal = 2 * v + (uint32_t)(draw(&state) & 1);

        if (c.s.value[literal] != 0)
          continue;
        decided[literal] = true;
        clarke_solver_assign(&c.s, literal, NO_CLAUSE, 0);
        conflict = clarke_solver_propagate(&c.s);
      }
      if (conflict != NO_CLAUSE) {
        int32_t clause[2 * MOST + 64];

        ck_assert_uint_eq(clarke_solver_conclude(&c.s, conflict), c.t.n_clauses + c.steps.n);
        ck_assert_uint_gt(c.s.n_learned_literals, 0);
        for (uint32_t i = 0; i < c.s.n_learned_literals; i++) {
          ck_assert(decided[c.s.learned[i] ^ 1]);
          clause[i] = clarke_solver_literal(c.s.learned[i]);
        }
        ck_assert(follows(&c.t, clause, c.s.n_learned_literals));
        for (uint32_t v = 0; v < c.t.n_variables; v++)
          ck_assert(!c.s.seen[v]);
        concluded++;
      }
      clarke_solver_back(&c.s, 0);
    }
    end(&c);
  }
  ck_assert_uint_gt(concluded, 100);
}
END_TEST

/* A clause that is dropped gives nothing more; the others do. */
START_TEST(dropped_clauses)
{
  clarke_sat_refutation r;
  clarke_solver s;
  uint32_t first, second;

  clarke_refutation_init(&r);
  r.n_given = 2;
  ck_assert(clarke_solver_init(&s, 3, &r));
  first = clarke_solver_add(&s, (const uint32_t[]){1, 2}, 2, 1, 0);   /* not x1, or x2 */
  second = clarke_solver_add(&s, (const uint32_t[]){1, 4, 3}, 3, 2, 0); /* not x1, or x3, or not x2 */
  ck_assert(first == 0 && second == 2 + LITERALS && s.used == 5 + 2 * LITERALS && s.n_learned == 0);
  decide(&s, 0);
  ck_assert(clarke_solver_propagate(&s) == NO_CLAUSE && s.n_trail == 3 && s.value[2] == 1 && s.value[4] == 1);
  ck_assert(s.reason[1] == first && s.reason[2] == second);
  clarke_solver_back(&s, 0);
  clarke_solver_drop(&s, first);
  decide(&s, 0);
  ck_assert(clarke_solver_propagate(&s) == NO_CLAUSE && s.n_trail == 1);
  decide(&s, 2);
  ck_assert(clarke_solver_propagate(&s) == NO_CLAUSE && s.n_trail == 3 && s.value[4] == 1);
  clarke_solver_back(&s, 1);
  ck_assert(s.n_trail == 1 && s.value[0] == 1 && s.value[2] == 0);
  clarke_solver_clear(&s);
  clarke_refutation_clear(&r);
}
END_TEST

/* --- files of others ------------------------------------------------------------------------- */

/* (1 or 2) and (1 or not 2) and (not 1 or 2) and (not 1 or not 2), followed with these hints. */
static clarke_status
follow(const char *text, size_t work, clarke_formula_answer *answer)
{
  clarke_cnf f = FORMULA(2, 1, 2, 0, 1, -2, 0, -1, 2, 0, -1, -2, 0, );
  clarke_three t;
  clarke_clausal p;
  clarke_solution solution;
  clarke_following g = {&solution, &t, &f, &p, "proof.lrat", work};
  clarke_status status;

  clarke_three_init(&t);
  clarke_clausal_init(&p);
  clarke_solution_init(&solution);
  OK(clarke_three_make(&t, &f, &error));
  OK(clarke_clausal_parse(&p, CLARKE_CLAUSAL_LRAT, text, strlen(text), "proof.lrat", &error));
  solution.refutation.n_given = t.n_clauses;
  status = clarke_follow_hints(&g, &error);
  *answer = solution.answer;
  if (status == CLARKE_OK)
    check_steps(&t, &solution.refutation);
  clarke_solution_clear(&solution);
  clarke_clausal_clear(&p);
  clarke_three_clear(&t);
  clarke_cnf_clear(&f);
  return status;
}

static void
refused(const char *text, const char *why)
{
  clarke_formula_answer answer;

  ck_assert_int_eq(follow(text, 1000, &answer), CLARKE_EINPUT);
  ck_assert_msg(strstr(error.text, why) != NULL && strstr(error.text, "proof.lrat") != NULL, "%s", error.text);
}

START_TEST(hints)
{
  clarke_formula_answer answer = CLARKE_FORMULA_SATISFIED;

  OK(follow("5 1 0 1 2 0\n6 0 5 3 4 0\n", 1000, &answer));
  ck_assert_int_eq(answer, CLARKE_FORMULA_REFUTED);
  OK(follow("5 1 1 0 1 2 0\n7 2 0 5 3 0\n7 d 5 0\n9 0 5 7 4 0\n", 1000, &answer));
  ck_assert_int_eq(answer, CLARKE_FORMULA_REFUTED);
  OK(follow("5 1 0 1 2 0\n6 0 5 3 4 0\n", 1, &answer));
  ck_assert_int_eq(answer, CLARKE_FORMULA_GIVEN_UP);
  refused("5 1 0 2 0\n", "does not follow by unit propagation with its hints");
  refused("5 0 1 2 0\n", "hint 1: more than one literal of that clause is open");
  refused("5 1 0 1 2 0\n6 0 7 3 4 0\n", "hint 7: there is no clause of that number");
  refused("5 1 0 1 2 0\n6 -1 0 5 0\n", "does not follow");
  refused("3 1 0 1 2 0\n", "clause 3 is one of the formula, which has 4");
  refused("5 1 0 1 2 0\n", "empty clause");
  refused("5 1 9 0 1 2 0\n", "variable");
}
END_TEST

/* How far it goes, and which literals there are. */
START_TEST(what_is_known)
{
  clarke_cnf f = FORMULA(3, 1, -3, 0, );
  static const char text[] = "1 0\n-3 0\n";
  clarke_three t;
  clarke_clausal p;
  clarke_solution solution;
  clarke_following g = {&solution, &t, &f, &p, "p.drat", 10};

  clarke_three_init(&t);
  OK(clarke_three_make(&t, &f, &error));
  clarke_clausal_init(&p);
  clarke_solution_init(&solution);
  OK(clarke_clausal_parse(&p, CLARKE_CLAUSAL_DRAT, text, sizeof text - 1, "p.drat", &error));
  OK(clarke_following_knows(&g, 0, 3, &error));
  OK(clarke_following_knows(&g, 1, -3, &error));
  ck_assert_int_eq(clarke_following_knows(&g, 1, 4, &error), CLARKE_EINPUT);
  ck_assert_ptr_nonnull(strstr(error.text, "p.drat:2: "));
  ck_assert_int_eq(clarke_following_knows(&g, 0, -4, &error), CLARKE_EINPUT);
  ck_assert_ptr_nonnull(strstr(error.text, "p.drat:1: "));
  ck_assert(clarke_following_goes_on(&g));
  solution.work = 10;
  ck_assert(!clarke_following_goes_on(&g));
  clarke_solution_clear(&solution);
  clarke_clausal_clear(&p);
  clarke_three_clear(&t);
  clarke_cnf_clear(&f);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("solver");

  tcase_add_test(tests, propagation);
  tcase_add_test(tests, learning);
  tcase_add_test(tests, conclusions);
  tcase_add_test(tests, dropped_clauses);
  tcase_add_test(tests, hints);
  tcase_add_test(tests, what_is_known);
  return run_tests();
}
