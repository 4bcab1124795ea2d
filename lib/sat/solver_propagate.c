/* Clauses, their watches, and unit propagation. */
#include "sat/solver.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

/* --- clauses ---------------------------------------------------------------------------------- */

static void
watch(clarke_solver *s, uint32_t literal, uint32_t clause, uint32_t other)
{
  clarke_watches *w = &s->watches[literal];

  s->failed = s->failed || !clarke_room(&w->at, &w->capacity, w->n + 1, sizeof *w->at);
  if (s->failed)
    return;
  w->at[w->n++] = (clarke_watch){clause, other};
}

static bool
has_room(clarke_solver *s, size_t more)
{
  size_t capacity = s->capacity == 0 ? 4096 : s->capacity;
  uint32_t *grown;

  while (capacity < s->used + more)
    capacity *= 2;
  if (capacity == s->capacity)
    return true;
  grown = capacity < NO_CLAUSE ? realloc(s->arena, capacity * sizeof *grown) : NULL;
  if (grown == NULL)
    return false;
  s->arena = grown;
  s->capacity = capacity;
  return true;
}

uint32_t
clarke_solver_add(clarke_solver *s, const uint32_t *literal, size_t n, uint32_t number, uint32_t glue)
{
  const uint32_t at = (uint32_t)s->used;

  if (!has_room(s, n + LITERALS)) {
    s->failed = true;
    return NO_CLAUSE;
  }
  s->arena[at + SIZE] = (uint32_t)n;
  s->arena[at + NUMBER] = number;
  s->arena[at + GLUE] = glue;
  memcpy(s->arena + at + LITERALS, literal, n * sizeof *literal);
  s->used += n + LITERALS;
  s->n_learned += glue != 0;
  watch(s, literal[0], at, literal[1]);
  watch(s, literal[1], at, literal[0]);
  return at;
}

static void
watch_no_more(clarke_solver *s, uint32_t literal, uint32_t clause)
{
  clarke_watches *w = &s->watches[literal];
  size_t kept = 0;

  for (size_t i = 0; i < w->n; i++)
    if (w->at[i].clause != clause)
      w->at[kept++] = w->at[i];
  s->work += w->n;
  w->n = kept;
}

void
clarke_solver_drop(clarke_solver *s, uint32_t clause)
{
  watch_no_more(s, s->arena[clause + LITERALS], clause);
  watch_no_more(s, s->arena[clause + LITERALS + 1], clause);
}

/* --- assignments ------------------------------------------------------------------------------ */

int32_t
clarke_solver_literal(uint32_t literal)
{
  const int32_t v = (int32_t)(literal / 2) + 1;

  return (literal & 1) != 0 ? -v : v;
}

/* The unit clause of a literal that its reason gives on level 0. */
static uint32_t
state_unit(clarke_solver *s, uint32_t literal, const uint32_t *clause)
{
  bool good = clarke_refutation_literal(s->steps, clarke_solver_literal(literal));
  uint32_t number;

  for (uint32_t i = 0; i < clause[SIZE] && good; i++)
    if (clause[LITERALS + i] != literal)
      good = clarke_refutation_hint(s->steps, s->unit[clause[LITERALS + i] / 2]);
  good = good && clarke_refutation_hint(s->steps, clause[NUMBER]);
  number = good ? clarke_refutation_end(s->steps) : 0;
  s->failed = s->failed || number == 0;
  return number;
}

void
clarke_solver_assign(clarke_solver *s, uint32_t literal, uint32_t reason, uint32_t unit)
{
  const uint32_t v = literal / 2;

  s->value[literal] = 1;
  s->value[literal ^ 1] = -1;
  s->level[v] = (uint32_t)s->n_levels;
  s->place[v] = (uint32_t)s->n_trail;
  s->reason[v] = reason;
  s->trail[s->n_trail++] = literal;
  if (s->n_levels == 0)
    s->unit[v] = unit != 0 ? unit : state_unit(s, literal, s->arena + reason);
}

/* The clause with a watched literal that became false: another to watch instead, if there is one. */
static bool
watch_another(clarke_solver *s, uint32_t at)
{
  uint32_t *literal = s->arena + at + LITERALS, n = s->arena[at + SIZE];

  for (uint32_t k = 2; k < n; k++)
    if (s->value[literal[k]] >= 0) {
      const uint32_t found = literal[k];

      literal[k] = literal[1];
      literal[1] = found;
      watch(s, found, at, literal[0]);
      return true;
    }
  return false;
}

/* What follows from a literal being false. */
static uint32_t
visit(clarke_solver *s, uint32_t wrong)
{
  clarke_watches *w = &s->watches[wrong];
  uint32_t conflict = NO_CLAUSE;
  size_t kept = 0;

  for (size_t i = 0; i < w->n; i++) {
    const clarke_watch now = w->at[i];
    uint32_t *literal = s->arena + now.clause + LITERALS;

    if (conflict != NO_CLAUSE || s->value[now.other] > 0) {
      w->at[kept++] = now;
      continue;
    }
    if (literal[0] == wrong) {
      literal[0] = literal[1];
      literal[1] = wrong;
    }
    if (s->value[literal[0]] <= 0 && watch_another(s, now.clause))
      continue;
    w->at[kept++] = (clarke_watch){now.clause, literal[0]};
    if (s->value[literal[0]] < 0)
      conflict = now.clause;
    else if (s->value[literal[0]] == 0)
      clarke_solver_assign(s, literal[0], now.clause, 0);
  }
  s->work += w->n;
  w->n = kept;
  return conflict;
}

uint32_t
clarke_solver_propagate(clarke_solver *s)
{
  uint32_t conflict = NO_CLAUSE;

  while (conflict == NO_CLAUSE && s->propagated < s->n_trail && !s->failed)
    conflict = visit(s, s->trail[s->propagated++] ^ 1);
  return conflict;
}

void
clarke_solver_back(clarke_solver *s, size_t level)
{
  if (level >= s->n_levels)
    return;
  while (s->n_trail > s->begin[level]) {
    const uint32_t literal = s->trail[--s->n_trail];

    s->value[literal] = s->value[literal ^ 1] = 0;
    s->phase[literal / 2] = (literal & 1) == 0;
    clarke_order_put(s, literal / 2);
  }
  s->propagated = s->n_trail;
  s->n_levels = level;
}

/* --- fewer clauses ---------------------------------------------------------------------------- */

/* The glue above which learned clauses are dropped, so that half of them stay. */
static uint32_t
glue_to_keep(const clarke_solver *s)
{
  size_t count[64] = {0}, total = 0;
  uint32_t glue = 0;

  for (size_t at = 0; at < s->used; at += s->arena[at + SIZE] + LITERALS)
    if (s->arena[at + GLUE] != 0)
      count[s->arena[at + GLUE] < 63 ? s->arena[at + GLUE] : 63]++;
  while (glue < 62 && total + count[glue + 1] <= s->n_learned / 2)
    total += count[++glue];
  return glue > 2 ? glue : 2;
}

void
clarke_solver_reduce(clarke_solver *s)
{
  const uint32_t most = glue_to_keep(s);
  size_t to = 0;

  for (size_t l = 0; l < 2 * s->n; l++)
    s->watches[l].n = 0;
  s->n_learned = 0;
  for (size_t at = 0, next; at < s->used; at = next) {
    const uint32_t size = s->arena[at + SIZE] + LITERALS;

    next = at + size;
    if (s->arena[at + GLUE] > most)
      continue;
    memmove(s->arena + to, s->arena + at, size * sizeof *s->arena);
    s->n_learned += s->arena[to + GLUE] != 0;
    watch(s, s->arena[to + LITERALS], (uint32_t)to, s->arena[to + LITERALS + 1]);
    watch(s, s->arena[to + LITERALS + 1], (uint32_t)to, s->arena[to + LITERALS]);
    to += size;
  }
  s->used = to;
}
