/* Formulas by hand and drawn, and what is true of them by the definition alone. */
#ifndef CLARKE_TESTS_SAT_FORMULAS_H
#define CLARKE_TESTS_SAT_FORMULAS_H

#include "../network/models.h"
#include "../ok.h"
#include "format/dimacs.h"
#include "sat/three.h"

/* Clauses end with 0; the text ends with END. */
#define END 99
#define FORMULA(n, ...) formula_of(n, (const int[]){__VA_ARGS__ END})

static inline clarke_cnf
formula_of(size_t n_variables, const int *literal)
{
  clarke_cnf f;

  clarke_cnf_init(&f);
  f.n_variables = n_variables;
  for (; *literal != END; literal++)
    OK(*literal != 0 ? clarke_cnf_add(&f, *literal, &error) : clarke_cnf_end(&f, &error));
  return f;
}

/* m clauses of `least` to `most` literals; they may repeat, and be complementary. */
static inline clarke_cnf
draw_formula(uint64_t *state, size_t n, size_t m, size_t least, size_t most)
{
  clarke_cnf f;

  clarke_cnf_init(&f);
  f.n_variables = n;
  for (size_t c = 0; c < m; c++) {
    const size_t k = least + draw_below(state, most - least + 1);

    for (size_t i = 0; i < k; i++) {
      const int v = 1 + (int)draw_below(state, n);

      OK(clarke_cnf_add(&f, draw_below(state, 2) != 0 ? v : -v, &error));
    }
    OK(clarke_cnf_end(&f, &error));
  }
  return f;
}

/* Three different variables a clause, n variables, m clauses: as hard as they come at m = 4.26 n. */
static inline clarke_cnf
draw_three(uint64_t *state, size_t n, size_t m)
{
  clarke_cnf f;

  clarke_cnf_init(&f);
  f.n_variables = n;
  for (size_t c = 0; c < m; c++) {
    size_t v[3];

    for (size_t i = 0; i < 3; i++)
      do
        v[i] = 1 + draw_below(state, n);
      while ((i > 0 && v[i] == v[0]) || (i > 1 && v[i] == v[1]));
    for (size_t i = 0; i < 3; i++)
      OK(clarke_cnf_add(&f, draw_below(state, 2) != 0 ? (int)v[i] : -(int)v[i], &error));
    OK(clarke_cnf_end(&f, &error));
  }
  return f;
}

static inline void
assignment_of(bool *value, size_t n, size_t number)
{
  for (size_t v = 0; v < n; v++)
    value[v] = (number >> v & 1) != 0;
}

/* By all assignments. */
static inline bool
can_be_satisfied(const clarke_cnf *f)
{
  bool value[24];
  size_t clause;

  for (size_t a = 0; a < (size_t)1 << f->n_variables; a++) {
    assignment_of(value, f->n_variables, a);
    if (clarke_cnf_holds(f, value, &clause))
      return true;
  }
  return false;
}

static inline bool
three_holds(const clarke_three *t, const bool *value)
{
  for (size_t c = 0; c < t->n_clauses; c++) {
    bool holds = false;

    for (size_t i = 0; i < 3; i++)
      holds = holds || value[labs((long)t->clause[c][i]) - 1] == (t->clause[c][i] > 0);
    if (!holds)
      return false;
  }
  return true;
}

#endif
