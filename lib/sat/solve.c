/* The search: decide, propagate, learn, restart (solve.h). */
#include "sat/solve.h"
#include "base/stop.h"
#include "base/verify.h"
#include "sat/solver.h"

#include <stdlib.h>
#include <string.h>

#define RESTART 64           /* conflicts, times Luby's sequence */
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
    /* Looked at behind each propagation: a search may go on for long without a conflict. Below the first decision it ends by itself. */
    if (s->n_levels > 0 && (s->work >= work || clarke_work_check(NULL) != CLARKE_OK))
      return CLARKE_FORMULA_GIVEN_UP;
    if (conflict == NO_CLAUSE) {
      if (!decide(s))
        return CLARKE_FORMULA_SATISFIED;
      continue;
    }
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
  good = clarke_solver_init(&s, f->n_variables, &to->refutation);

  to->refutation.n_given = f->n_clauses;
  if (good) {
    to->answer = clarke_solver_load(&s, f) ? CLARKE_FORMULA_REFUTED : search(&s, work);
    to->stopped = to->answer == CLARKE_FORMULA_GIVEN_UP && s.work < work ? clarke_work_stopped() : NULL;
    to->conflicts = s.conflicts;
    to->work = s.work;
    good = !s.failed && (to->answer != CLARKE_FORMULA_SATISFIED || keep_assignment(to, &s));
  }
  clarke_solver_clear(&s);
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
