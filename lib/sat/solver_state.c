/* The solver's state: made, and given a formula. */
#include "sat/solver.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_LEARNED 4000 /* clauses, before the first reduction */

void
clarke_solver_clear(clarke_solver *s)
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

bool
clarke_solver_init(clarke_solver *s, size_t n, clarke_sat_refutation *steps)
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

bool
clarke_solver_load(clarke_solver *s, const clarke_three *f)
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
