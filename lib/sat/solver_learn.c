/* Learning: from a conflict back to the first point at which one literal of the level implies it. */
#include "sat/solver.h"

#include <stdlib.h>

static void
see_fixed(clarke_solver *s, uint32_t v)
{
  if (!s->seen[v])
    s->fixed[s->n_fixed++] = v;
  s->seen[v] = true;
}

/* The literals of a clause, but that of `skipped`: those of the level are counted, lower ones go into the clause. Returns
 * how many of the level are new. */
static size_t
see_clause(clarke_solver *s, uint32_t at, uint32_t skipped)
{
  const uint32_t *clause = s->arena + at;
  size_t open = 0;

  for (uint32_t i = 0; i < clause[SIZE]; i++) {
    const uint32_t literal = clause[LITERALS + i], v = literal / 2;

    if (v == skipped || s->seen[v])
      continue;
    if (s->level[v] == 0) {
      see_fixed(s, v);
      continue;
    }
    s->seen[v] = true;
    clarke_order_bump(s, v);
    if (s->level[v] == s->n_levels)
      open++;
    else
      s->learned[s->n_learned_literals++] = literal;
  }
  return open;
}

/* Resolves with reasons until one literal of the level is left; its negation comes first in the clause. */
static void
resolve(clarke_solver *s, uint32_t conflict)
{
  size_t at = s->n_trail, open;

  s->n_learned_literals = 1;
  s->n_resolved = s->n_fixed = 0;
  open = see_clause(s, conflict, NO_CLAUSE);
  for (;;) {
    while (!s->seen[s->trail[at - 1] / 2])
      at--;
    const uint32_t literal = s->trail[--at], v = literal / 2;

    if (open == 1) {
      s->learned[0] = literal ^ 1;
      return;
    }
    s->resolved[s->n_resolved++] = v;
    open += see_clause(s, s->reason[v], v) - 1;
  }
}

/* Is the literal implied to be false by others of the clause, by its reason? */
static bool
is_implied(const clarke_solver *s, uint32_t literal)
{
  const uint32_t v = literal / 2, *clause;

  if (s->reason[v] == NO_CLAUSE)
    return false;
  clause = s->arena + s->reason[v];
  for (uint32_t i = 0; i < clause[SIZE]; i++) {
    const uint32_t u = clause[LITERALS + i] / 2;

    if (u != v && s->level[u] != 0 && !s->seen[u])
      return false;
  }
  return true;
}

static void
forget_seen(clarke_solver *s)
{
  for (uint32_t i = 0; i < s->n_learned_literals; i++)
    s->seen[s->learned[i] / 2] = false;
  for (uint32_t i = 0; i < s->n_resolved; i++)
    s->seen[s->resolved[i]] = false;
  for (uint32_t i = 0; i < s->n_fixed; i++)
    s->seen[s->fixed[i]] = false;
}

/* Leaves out what is implied; seen stays set, for clearing. */
static void
minimize(clarke_solver *s)
{
  uint32_t kept = 1;

  for (uint32_t i = 1; i < s->n_learned_literals; i++) {
    const uint32_t literal = s->learned[i], v = literal / 2;

    if (!is_implied(s, literal)) {
      s->learned[i] = s->learned[kept];
      s->learned[kept++] = literal;
      continue;
    }
    s->resolved[s->n_resolved++] = v;
    for (uint32_t k = 0; k < s->arena[s->reason[v] + SIZE]; k++) {
      const uint32_t u = s->arena[s->reason[v] + LITERALS + k] / 2;

      if (s->level[u] == 0)
        see_fixed(s, u);
    }
  }
  forget_seen(s);
  s->n_learned_literals = kept;
}

static int
by_number(const void *a, const void *b)
{
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

  return (x > y) - (x < y);
}

/* The variables that were resolved, in the order of the trail. */
static void
order_resolved(clarke_solver *s)
{
  for (uint32_t i = 0; i < s->n_resolved; i++)
    s->resolved[i] = s->place[s->resolved[i]];
  qsort(s->resolved, s->n_resolved, sizeof *s->resolved, by_number);
  for (uint32_t i = 0; i < s->n_resolved; i++)
    s->resolved[i] = s->trail[s->resolved[i]] / 2;
}

/* The step: unit clauses first, then reasons in the order of the trail, then the conflict. Its number, or 0. */
static uint32_t
state_step(clarke_solver *s, uint32_t conflict)
{
  bool good = true;

  order_resolved(s);
  s->work += s->n_fixed + s->n_resolved;
  for (uint32_t i = 0; i < s->n_learned_literals && good; i++)
    good = clarke_refutation_literal(s->steps, clarke_solver_literal(s->learned[i]));
  for (uint32_t i = 0; i < s->n_fixed && good; i++)
    good = clarke_refutation_hint(s->steps, s->unit[s->fixed[i]]);
  for (uint32_t i = 0; i < s->n_resolved && good; i++)
    good = clarke_refutation_hint(s->steps, s->arena[s->reason[s->resolved[i]] + NUMBER]);
  good = good && clarke_refutation_hint(s->steps, s->arena[conflict + NUMBER]);
  return good ? clarke_refutation_end(s->steps) : 0;
}

/* How many levels the clause joins; the literal of the highest but its own comes second. */
static uint32_t
order_levels(clarke_solver *s)
{
  uint32_t glue = 0, second = 1;

  for (uint32_t i = 0; i < s->n_learned_literals; i++) {
    const uint32_t level = s->level[s->learned[i] / 2];

    glue += s->joined[level] != (uint32_t)s->conflicts;
    s->joined[level] = (uint32_t)s->conflicts;
    if (i > 1 && level > s->level[s->learned[second] / 2])
      second = i;
  }
  if (s->n_learned_literals > 1) {
    const uint32_t literal = s->learned[1];

    s->learned[1] = s->learned[second];
    s->learned[second] = literal;
  }
  return glue;
}

bool
clarke_solver_learn(clarke_solver *s, uint32_t conflict)
{
  uint32_t number, glue;

  s->conflicts++;
  s->n_learned_literals = s->n_resolved = s->n_fixed = 0;
  if (s->n_levels > 0) {
    resolve(s, conflict);
    minimize(s);
  } else {
    see_clause(s, conflict, NO_CLAUSE); /* all are of level 0 */
  }
  number = state_step(s, conflict);
  s->failed = s->failed || number == 0;
  if (s->n_learned_literals == 0 || s->failed)
    return false;
  glue = order_levels(s);
  if (s->n_learned_literals == 1) {
    clarke_solver_back(s, 0);
    clarke_solver_assign(s, s->learned[0], NO_CLAUSE, number);
    return true;
  }
  clarke_solver_back(s, s->level[s->learned[1] / 2]);
  clarke_solver_assign(s, s->learned[0], clarke_solver_add(s, s->learned, s->n_learned_literals, number, glue), 0);
  return !s->failed;
}

uint32_t
clarke_solver_conclude(clarke_solver *s, uint32_t conflict)
{
  s->n_learned_literals = s->n_resolved = s->n_fixed = 0;
  see_clause(s, conflict, NO_CLAUSE);
  for (size_t at = s->n_trail; at-- > s->begin[0];) {
    const uint32_t literal = s->trail[at], v = literal / 2;

    if (!s->seen[v])
      continue;
    if (s->reason[v] == NO_CLAUSE) {
      s->learned[s->n_learned_literals++] = literal ^ 1;
      continue;
    }
    s->resolved[s->n_resolved++] = v;
    see_clause(s, s->reason[v], v);
  }
  forget_seen(s);
  return state_step(s, conflict);
}
