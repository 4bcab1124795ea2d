/* Steps of refutations, followed by the definition in sat/refutation.h. */
#ifndef CLARKE_TESTS_SAT_STEPS_H
#define CLARKE_TESTS_SAT_STEPS_H

#include "formulas.h"
#include "sat/refutation.h"

typedef struct {
  const clarke_three *t;
  const clarke_sat_refutation *r;
} steps;

/* The literals of clause `number` one after another; 0 at the end. */
static inline int
literal_of(const steps *s, size_t number, size_t i)
{
  const size_t k = number - s->r->n_given - 1;

  if (number <= s->r->n_given)
    return i < 3 ? s->t->clause[number - 1][i] : 0;
  return s->r->first_literal[k] + i < s->r->first_literal[k + 1] ? s->r->literal[s->r->first_literal[k] + i] : 0;
}

static inline int
sign_of(const signed char *value, int literal)
{
  return literal > 0 ? value[literal] : -value[-literal];
}

/* Follows step k by the definition in refutation.h. */
static inline bool
step_holds(const steps *s, size_t k)
{
  signed char *value = calloc(s->t->n_variables + 1, 1);
  const size_t number = s->r->n_given + 1 + k;
  bool refuted = false, good = true;
  int l;

  for (size_t i = 0; (l = literal_of(s, number, i)) != 0; i++)
    value[abs(l)] = l > 0 ? -1 : 1;
  for (size_t h = s->r->first_hint[k]; h < s->r->first_hint[k + 1] && good; h++) {
    int open = 0;

    good = !refuted && s->r->hint[h] >= 1 && s->r->hint[h] < number;
    for (size_t i = 0; good && (l = literal_of(s, s->r->hint[h], i)) != 0; i++)
      if (sign_of(value, l) >= 0) {
        good = sign_of(value, l) == 0 && (open == 0 || open == l);
        open = l;
      }
    if (open != 0)
      value[abs(open)] = open > 0 ? 1 : -1;
    refuted = open == 0;
  }
  free(value);
  return good && refuted;
}

#endif
