/* Following DRAT: each clause is refuted by propagation, in the order of the file (follow.h). */
#include "sat/follow.h"
#include "base/stop.h"
#include "base/verify.h"
#include "sat/follow_inside.h"
#include "sat/solver.h"

#include <stdlib.h>
#include <string.h>

/* --- clauses by their literals ----------------------------------------------------------------- */

/* A deletion names a clause by its literals; here they are found by a number mixed from them, in any order. Two clauses of
 * one number would be mistaken for one another. That can only make a step be refused, never taken. */
typedef struct {
  uint64_t key;
  uint32_t clause, next; /* places from 1; 0: none */
} entry;

typedef struct {
  uint32_t *first; /* by key % n_first */
  size_t n_first, n, capacity;
  entry *at;
} clause_table;

static uint64_t
mixed(uint64_t x)
{
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

static uint64_t
key_of(const uint32_t *literal, size_t n)
{
  uint64_t key = mixed(n);

  for (size_t i = 0; i < n; i++)
    key += mixed((uint64_t)literal[i] + 0x9e3779b97f4a7c15);
  return key;
}

static bool
table_put(clause_table *t, uint64_t key, uint32_t clause)
{
  if (t->n + 1 >= t->capacity) {
    size_t capacity = t->capacity == 0 ? 1024 : 2 * t->capacity;
    entry *grown = capacity < UINT32_MAX ? realloc(t->at, capacity * sizeof *grown) : NULL;

    if (grown == NULL)
      return false;
    t->at = grown;
    t->capacity = capacity;
  }
  t->at[++t->n] = (entry){key, clause, t->first[key % t->n_first]};
  t->first[key % t->n_first] = (uint32_t)t->n;
  return true;
}

/* Its offset, and it is there no more; NO_CLAUSE. */
static uint32_t
table_take(clause_table *t, uint64_t key)
{
  for (uint32_t *link = &t->first[key % t->n_first]; *link != 0; link = &t->at[*link].next)
    if (t->at[*link].key == key) {
      const uint32_t clause = t->at[*link].clause;

      *link = t->at[*link].next;
      return clause;
    }
  return NO_CLAUSE;
}

/* --- DRAT ------------------------------------------------------------------------------------- */

typedef struct {
  clarke_following *g;
  clarke_solver solver;
  clause_table table;
  uint32_t *literal; /* of the step at hand, in order, each once */
  size_t n, capacity;
} drat;

static int
by_number(const void *a, const void *b)
{
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

  return (x > y) - (x < y);
}

static clarke_status
take_literals(drat *d, size_t k, clarke_error *err)
{
  const clarke_clausal *p = d->g->proof;
  const size_t first = p->step[k].first_literal, n = p->step[k + 1].first_literal - first;

  if (n > d->capacity) {
    uint32_t *grown = realloc(d->literal, 2 * n * sizeof *grown);

    if (grown == NULL)
      return clarke_no_memory(err);
    d->literal = grown;
    d->capacity = 2 * n;
  }
  for (size_t i = 0; i < n; i++) {
    const int32_t l = p->literal[first + i];
    const clarke_status status = clarke_following_knows(d->g, k, l, err);

    if (status != CLARKE_OK)
      return status;
    d->literal[i] = 2 * (uint32_t)(labs((long)l) - 1) + (l < 0);
  }
  if (n > 1)
    qsort(d->literal, n, sizeof *d->literal, by_number);
  d->n = 0;
  for (size_t i = 0; i < n; i++)
    if (d->n == 0 || d->literal[d->n - 1] != d->literal[i])
      d->literal[d->n++] = d->literal[i];
  return CLARKE_OK;
}

/* On level 0: is what propagates contradictory? Then the empty clause becomes a step. */
static bool
is_refuted(clarke_solver *s)
{
  const uint32_t conflict = clarke_solver_propagate(s);

  if (conflict == NO_CLAUSE)
    return false;
  clarke_solver_learn(s, conflict);
  return true;
}

/* Assumes that the clause at hand is false. False where that cannot be: it is true on level 0, or always. */
static bool
assume(drat *d)
{
  clarke_solver *s = &d->solver;

  s->begin[s->n_levels++] = s->n_trail;
  for (size_t i = 0; i < d->n; i++) {
    if (s->value[d->literal[i]] > 0)
      return false;
    if (s->value[d->literal[i]] == 0)
      clarke_solver_assign(s, d->literal[i] ^ 1, NO_CLAUSE, 0);
  }
  return true;
}

/* Adds what was concluded, which is a part of the clause at hand. Is the formula refuted? */
static bool
add(drat *d, uint32_t number)
{
  clarke_solver *s = &d->solver;
  uint32_t clause;

  clarke_solver_back(s, 0);
  if (number == 0 || s->n_learned_literals == 0) {
    s->failed = s->failed || number == 0;
    return !s->failed;
  }
  if (s->n_learned_literals == 1) {
    clarke_solver_assign(s, s->learned[0], NO_CLAUSE, number);
    return is_refuted(s);
  }
  clause = clarke_solver_add(s, s->learned, s->n_learned_literals, number, 0);
  s->failed = s->failed || !table_put(&d->table, key_of(d->literal, d->n), clause);
  return false;
}

static clarke_status
follow_clause(drat *d, size_t k, bool *refuted, clarke_error *err)
{
  clarke_solver *s = &d->solver;
  uint32_t conflict;

  if (!assume(d)) {
    clarke_solver_back(s, 0);
    return CLARKE_OK;
  }
  conflict = clarke_solver_propagate(s);
  if (conflict == NO_CLAUSE)
    return s->failed ? clarke_no_memory(err)
                     : clarke_clausal_fail(err, d->g->proof, d->g->file, k,
                                           "the clause does not follow by unit propagation (RAT steps are not followed)");
  *refuted = add(d, clarke_solver_conclude(s, conflict));
  return s->failed ? clarke_no_memory(err) : CLARKE_OK;
}

static clarke_status
follow_step(drat *d, size_t k, bool *refuted, clarke_error *err)
{
  const clarke_status status = take_literals(d, k, err);
  uint32_t clause;

  if (status != CLARKE_OK || !d->g->proof->step[k].deletion)
    return status == CLARKE_OK ? follow_clause(d, k, refuted, err) : status;
  clause = table_take(&d->table, key_of(d->literal, d->n));
  if (clause != NO_CLAUSE)
    clarke_solver_drop(&d->solver, clause);
  return CLARKE_OK;
}

/* Every clause of the formula in the arena, by its literals. */
static bool
enter_formula(drat *d)
{
  const clarke_solver *s = &d->solver;
  uint32_t literal[3];
  bool good = true;

  for (size_t at = 0; good && at < s->used; at += s->arena[at + SIZE] + LITERALS) {
    const size_t n = s->arena[at + SIZE];

    memcpy(literal, s->arena + at + LITERALS, n * sizeof *literal);
    good = table_put(&d->table, key_of(literal, n), (uint32_t)at);
  }
  return good;
}

static clarke_status
follow_steps(drat *d, clarke_error *err)
{
  clarke_following *g = d->g;
  bool refuted = clarke_solver_load(&d->solver, g->three) || is_refuted(&d->solver);
  clarke_status status = CLARKE_OK;

  if (!enter_formula(d) || d->solver.failed)
    return clarke_no_memory(err);
  for (size_t k = 0; !refuted && status == CLARKE_OK; k++) {
    g->to->work = d->solver.work;
    clarke_work_done();
    if (!clarke_following_goes_on(g))
      return CLARKE_OK;
    if (k == g->proof->n)
      return clarke_fail(err, CLARKE_EINPUT, "%s: %zu steps that follow, but not to the empty clause", g->file, k);
    status = follow_step(d, k, &refuted, err);
  }
  g->to->work = d->solver.work;
  if (refuted)
    g->to->answer = CLARKE_FORMULA_REFUTED;
  return d->solver.failed ? clarke_no_memory(err) : status;
}

static clarke_status
follow_drat(clarke_following *g, clarke_error *err)
{
  drat d = {.g = g};
  clarke_status status = CLARKE_OK;

  d.table.n_first = 2 * (g->three->n_clauses + g->proof->n) + 1;
  d.table.first = calloc(d.table.n_first, sizeof *d.table.first);
  if (!clarke_solver_init(&d.solver, g->three->n_variables, &g->to->refutation) || d.table.first == NULL)
    status = clarke_no_memory(err);
  if (status == CLARKE_OK)
    status = follow_steps(&d, err);
  clarke_solver_clear(&d.solver);
  free(d.table.first);
  free(d.table.at);
  free(d.literal);
  return status;
}

clarke_status
clarke_follow(clarke_solution *to, const clarke_three *t, const clarke_cnf *f, const clarke_clausal *p, const char *file,
              size_t work, clarke_error *err)
{
  clarke_following g = {to, t, f, p, file, work};
  clarke_status status;

  CLARKE_VERIFY_CHECK(clarke_three_is_valid(t));
  to->refutation.n_given = t->n_clauses;
  status = (p->format == CLARKE_CLAUSAL_LRAT ? clarke_follow_hints : follow_drat)(&g, err);
  if (status == CLARKE_OK && to->answer == CLARKE_FORMULA_REFUTED)
    status = clarke_refutation_trim(&to->refutation, err);
  else
    clarke_refutation_clear(&to->refutation);
  if (status != CLARKE_OK)
    clarke_solution_clear(to);
  else if (to->answer == CLARKE_FORMULA_REFUTED)
    CLARKE_VERIFY_CHECK(clarke_refutation_is_valid(&to->refutation));
  return status;
}
