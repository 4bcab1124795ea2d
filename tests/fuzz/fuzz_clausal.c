/* Refutations of other solvers, of both formats. What is read keeps its promises. Followed on a formula that can be satisfied,
 * none refutes it; on one that cannot, each step of what is made of it follows from those before. */
#include "format/clausal.h"
#include "mutate.h"
#include "sat/follow.h"
#include "target.h"

MUTATED_AS(mutate_text)

static const char refutable[] = "p cnf 4 9\n1 2 3 4 0\n-1 2 0\n-2 3 0\n-3 4 0\n-4 1 0\n-1 -2 -3 -4 0\n1 1 -1 0\n2 3 -4 0\n4 -3 2 0\n";
static const char satisfiable[] = "p cnf 4 7\n1 2 3 4 0\n-1 2 0\n-2 3 0\n-3 4 0\n-4 1 0\n1 1 -1 0\n2 3 -4 0\n";

static void
require_read(const clarke_clausal *p)
{
  REQUIRE(p->n > 0 && p->step[0].first_literal == 0 && p->step[0].first_hint == 0);
  REQUIRE(p->step[p->n].first_literal == p->n_literals && p->step[p->n].first_hint == p->n_hints);
  for (size_t k = 0; k < p->n; k++) {
    REQUIRE(p->step[k].first_literal <= p->step[k + 1].first_literal && p->step[k].first_hint <= p->step[k + 1].first_hint);
    REQUIRE(p->step[k].place <= p->step[k + 1].place);
  }
  for (size_t i = 0; i < p->n_literals; i++)
    REQUIRE(p->literal[i] != 0 && (size_t)labs((long)p->literal[i]) <= CLARKE_CNF_VARIABLES);
  for (size_t i = 0; i < p->n_hints; i++)
    REQUIRE(p->hint[i] > 0 && p->hint[i] <= CLARKE_CLAUSAL_NUMBERS);
}

/* The literals of clause `number`. */
static size_t
clause_of(const int32_t **at, const clarke_three *t, const clarke_sat_refutation *r, size_t number)
{
  if (number <= t->n_clauses) {
    *at = t->clause[number - 1];
    return 3;
  }
  number -= t->n_clauses + 1;
  *at = r->literal + r->first_literal[number];
  return r->first_literal[number + 1] - r->first_literal[number];
}

/* Propagates as docs/proof-format.md, "Networks of formulas", has it. */
static void
require_step(const clarke_three *t, const clarke_sat_refutation *r, size_t k)
{
  signed char value[64] = {0};
  bool refuted = false;

  REQUIRE(t->n_variables < 64);
  for (size_t i = r->first_literal[k]; i < r->first_literal[k + 1]; i++) {
    REQUIRE(value[labs((long)r->literal[i])] == 0);
    value[labs((long)r->literal[i])] = r->literal[i] > 0 ? -1 : 1;
  }
  for (size_t h = r->first_hint[k]; h < r->first_hint[k + 1]; h++) {
    const int32_t *literal;
    const size_t n = clause_of(&literal, t, r, r->hint[h]);
    int32_t open = 0;

    REQUIRE(!refuted && r->hint[h] <= t->n_clauses + k);
    for (size_t i = 0; i < n; i++) {
      const int v = literal[i] > 0 ? value[literal[i]] : -value[-literal[i]];

      REQUIRE(v <= 0 && (v < 0 || open == 0 || open == literal[i]));
      open = v == 0 ? literal[i] : open;
    }
    if (open != 0)
      value[labs((long)open)] = open > 0 ? 1 : -1;
    refuted = open == 0;
  }
  REQUIRE(refuted);
}

static void
follow(const clarke_clausal *p, const char *formula, bool refutation)
{
  clarke_cnf f;
  clarke_three t;
  clarke_solution s;
  clarke_error err = {CLARKE_OK, ""};
  clarke_status status;

  clarke_cnf_init(&f);
  clarke_three_init(&t);
  clarke_solution_init(&s);
  REQUIRE(clarke_dimacs_parse(&f, formula, strlen(formula), "f.cnf", NULL) == CLARKE_OK);
  REQUIRE(clarke_three_make(&t, &f, NULL) == CLARKE_OK);
  status = clarke_follow(&s, &t, &f, p, "fuzzed", 1000000, &err);
  if (status != CLARKE_OK)
    require_refusal(status, &err, "fuzzed");
  REQUIRE(s.answer != CLARKE_FORMULA_SATISFIED && (refutation || s.answer != CLARKE_FORMULA_REFUTED));
  if (s.answer == CLARKE_FORMULA_REFUTED) {
    REQUIRE(clarke_refutation_is_valid(&s.refutation));
    for (size_t k = 0; k < s.refutation.n; k++)
      require_step(&t, &s.refutation, k);
  }
  clarke_solution_clear(&s);
  clarke_three_clear(&t);
  clarke_cnf_clear(&f);
}

static void
read(const uint8_t *data, size_t size, clarke_clausal_format format)
{
  clarke_clausal p;
  clarke_error err = {CLARKE_OK, ""};
  clarke_status status;

  clarke_clausal_init(&p);
  status = clarke_clausal_parse(&p, format, data, size, "fuzzed", &err);
  if (status == CLARKE_OK) {
    require_read(&p);
    follow(&p, refutable, true);
    follow(&p, satisfiable, false);
  } else {
    require_refusal(status, &err, "fuzzed");
    REQUIRE(p.step == NULL && p.literal == NULL && p.hint == NULL);
  }
  clarke_clausal_clear(&p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  read(data, size, CLARKE_CLAUSAL_DRAT);
  read(data, size, CLARKE_CLAUSAL_LRAT);
  return 0;
}
