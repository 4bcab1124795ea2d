/* The search: decide, propagate, learn, restart (solve.h). */
#include "sat/solve.h"
#include "base/stop.h"
#include "base/verify.h"
#include "sat/solver.h"

#include <stdlib.h>
#include <string.h>

#define RESTART 64           /* conflicts, times Luby's sequence */
#define FIRST_LEARNED 4000   /* clauses, before the first reduction */
#define MORE_LEARNED 1000    /* more before the next */
#define DECAY (1 / 0.95)

void
clarke_solution_init(clarke_solution *s)
{
  memset(s, 0, sizeof *s);
  s->answer = CLARKE_FORMULA_GIVEN_UP;
}

void
clarke_solution_clear(clarke_solution *s)
{
  free(s->value);
  clarke_refutation_clear(&s->refutation);
  clarke_solution_init(s);
}

/* --- the state -------------------------------------------------------------------------------- */

static void
solver_clear(clarke_solver *s)
{
  for (size_t l = 0; s->watches != NULL && l < 2 * s->n; l++)
    free(s->watches[l].at);
  free(s->watches);
  free(s->value);
  free(s->phase);
  free(s->level);
  free(s->place);
  free(s->reason);
  free(s->unit);
  free(s->trail);
  free(s->begin);
  free(s->arena);
  free(s->activity);
  free(s->heap);
  free(s->heap_place);
  free(s->seen);
  free(s->learned);
  free(s->resolved);
  free(s->fixed);
  free(s->joined);
}

static bool
solver_init(clarke_solver *s, size_t n, clarke_refutation *steps)
{
  memset(s, 0, sizeof *s);
  s->n = n;
  s->steps = steps;
  s->step = 1;
  s->most_learned = FIRST_LEARNED;
  s->watches = calloc(2 * n, sizeof *s->watches);
  s->value = calloc(2 * n, sizeof *s->value);
  s->phase = calloc(n, sizeof *s->phase);
  s->level = calloc(n, sizeof *s->level);
  s->place = calloc(n, sizeof *s->place);
  s->reason = calloc(n, sizeof *s->reason);
  s->unit = calloc(n, sizeof *s->unit);
  s->trail = calloc(n, sizeof *s->trail);
  s->begin = calloc(n + 1, sizeof *s->begin);
  s->activity = calloc(n, sizeof *s->activity);
  s->heap = calloc(n, sizeof *s->heap);
  s->heap_place = malloc(n * sizeof *s->heap_place);
  s->seen = calloc(n, sizeof *s->seen);
  s->learned = calloc(n + 1, sizeof *s->learned);
  s->resolved = calloc(n, sizeof *s->resolved);
  s->fixed = calloc(n, sizeof *s->fixed);
  s->joined = calloc(n + 1, sizeof *s->joined);
  if (s->watches == NULL || s->value == NULL || s->phase == NULL || s->level == NULL || s->place == NULL ||
      s->reason == NULL || s->unit == NULL || s->trail == NULL || s->begin == NULL || s->activity == NULL ||
      s->heap == NULL || s->heap_place == NULL || s->seen == NULL || s->learned == NULL || s->resolved == NULL ||
      s->fixed == NULL || s->joined == NULL)
    return false;
  memset(s->heap_place, 0xff, n * sizeof *s->heap_place); /* nowhere */
  for (uint32_t v = 0; v < n; v++)
    clarke_order_put(s, v);
  return true;
}

/* --- the formula ------------------------------------------------------------------------------ */

/* The literals, each once; 0 of a tautology. */
static size_t
distinct(uint32_t to[3], const int32_t clause[3])
{
  size_t n = 0;

  for (size_t i = 0; i < 3; i++) {
    const uint32_t literal = 2 * (uint32_t)(labs((long)clause[i]) - 1) + (clause[i] < 0);
    bool there = false;

    for (size_t j = 0; j < n; j++) {
      if (to[j] == (literal ^ 1))
        return 0;
      there = there || to[j] == literal;
    }
    if (!there)
      to[n++] = literal;
  }
  return n;
}

/* A unit clause that an earlier one contradicts: the empty clause follows. */
static bool
contradict(clarke_solver *s, uint32_t literal, uint32_t number)
{
  if (!clarke_refutation_hint(s->steps, s->unit[literal / 2]) || !clarke_refutation_hint(s->steps, number) ||
      clarke_refutation_end(s->steps) == 0)
    s->failed = true;
  return true;
}

/* Is it contradictory already? */
static bool
load(clarke_solver *s, const clarke_three *f)
{
  for (size_t c = 0; c < f->n_clauses && !s->failed; c++) {
    uint32_t literal[3], number = (uint32_t)(c + 1);
    const size_t n = distinct(literal, f->clause[c]);

    if (n > 1)
      clarke_solver_add(s, literal, n, number, 0);
    else if (n == 1 && s->value[literal[0]] < 0)
      return contradict(s, literal[0], number);
    else if (n == 1 && s->value[literal[0]] == 0)
      clarke_solver_assign(s, literal[0], NO_CLAUSE, number);
  }
  return false;
}

/* --- the search ------------------------------------------------------------------------------- */

/* 1, 1, 2, 1, 1, 2, 4, 1, 1, 2, ... (Luby, Sinclair, Zuckerman) */
static size_t
luby(size_t i)
{
  size_t k = 1;

  while (((size_t)1 << k) - 1 < i)
    k++;
  return ((size_t)1 << k) - 1 == i ? (size_t)1 << (k - 1) : luby(i - ((size_t)1 << (k - 1)) + 1);
}

/* On level 0. */
static void
restart(clarke_solver *s)
{
  clarke_solver_back(s, 0);
  if (s->n_learned < s->most_learned || s->propagated < s->n_trail)
    return;
  clarke_solver_reduce(s);
  s->most_learned += MORE_LEARNED;
}

/* The next decision; false when there is nothing to decide. */
static bool
decide(clarke_solver *s)
{
  const uint32_t v = clarke_order_take(s);

  if (v == NO_CLAUSE)
    return false;
  s->begin[s->n_levels++] = s->n_trail;
  clarke_solver_assign(s, 2 * v + !s->phase[v], NO_CLAUSE, 0);
  return true;
}

static clarke_formula_answer
search(clarke_solver *s, size_t work)
{
  size_t round = 1, next = RESTART * luby(round);

  while (!s->failed) {
    const uint32_t conflict = clarke_solver_propagate(s);

    if (conflict == NO_CLAUSE && s->conflicts >= next) {
      restart(s);
      next = s->conflicts + RESTART * luby(++round);
      continue;
    }
    if (conflict == NO_CLAUSE) {
      if (!decide(s))
        return CLARKE_FORMULA_SATISFIED;
      continue;
    }
    if ((s->work >= work || clarke_work_check(NULL) != CLARKE_OK) && s->n_levels > 0)
      return CLARKE_FORMULA_GIVEN_UP;
    clarke_work_done();
    if (!clarke_solver_learn(s, conflict))
      return CLARKE_FORMULA_REFUTED;
    s->step *= DECAY;
  }
  return CLARKE_FORMULA_GIVEN_UP;
}

static bool
keep_assignment(clarke_solution *to, const clarke_solver *s)
{
  to->value = calloc(s->n, sizeof *to->value);
  for (size_t v = 0; to->value != NULL && v < s->n; v++)
    to->value[v] = s->value[2 * v] > 0;
  return to->value != NULL;
}

clarke_status
clarke_solve(clarke_solution *to, const clarke_three *f, size_t work, clarke_error *err)
{
  clarke_solver s;
  bool good;

  CLARKE_VERIFY_CHECK(clarke_three_is_valid(f));
  good = solver_init(&s, f->n_variables, &to->refutation);

  to->refutation.n_given = f->n_clauses;
  if (good) {
    to->answer = load(&s, f) ? CLARKE_FORMULA_REFUTED : search(&s, work);
    to->stopped = to->answer == CLARKE_FORMULA_GIVEN_UP && s.work < work ? clarke_work_stopped() : NULL;
    to->conflicts = s.conflicts;
    to->work = s.work;
    good = !s.failed && (to->answer != CLARKE_FORMULA_SATISFIED || keep_assignment(to, &s));
  }
  solver_clear(&s);
  if (!good)
    return clarke_no_memory(err);
  if (to->answer != CLARKE_FORMULA_REFUTED) {
    clarke_refutation_clear(&to->refutation);
    return CLARKE_OK;
  }
  if (clarke_refutation_trim(&to->refutation, err) != CLARKE_OK)
    return CLARKE_ENOMEM;
  CLARKE_VERIFY_CHECK(clarke_refutation_is_valid(&to->refutation));
  return CLARKE_OK;
}
