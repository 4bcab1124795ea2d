/* The solver's state (solver_state.c), for its own files: clauses and propagation (solver_propagate.c), the order of variables
 * (solver_order.c), learning (solver_learn.c); solve.c leads the search, and follow.c follows that of others.
 *
 * A literal is 2 v or 2 v + 1 (negated), v a variable from 0; l ^ 1 is its negation. Level 0 is what holds without a
 * decision. There every literal has a unit clause among the steps, so that a hint can name it. */
#ifndef CLARKE_SAT_SOLVER_H
#define CLARKE_SAT_SOLVER_H

#include "sat/solve.h"

#define NO_CLAUSE UINT32_MAX

/* In the arena at a clause's offset: its size, its number, its glue (how many levels it joined when it was learned; 0: the
 * formula's), then its literals, of which the first two are watched. */
enum { SIZE, NUMBER, GLUE, LITERALS };

/* A clause is visited when the literal, on whose list this stands, becomes false; not while `other` of its is true. */
typedef struct {
  uint32_t clause, other;
} clarke_watch;

typedef struct {
  size_t n, capacity;
  clarke_watch *at;
} clarke_watches;

typedef struct {
  size_t n;               /* variables */
  signed char *value;     /* of literals: 1 true, -1 false, 0 open */
  bool *phase;            /* of variables: the sign that was tried last */
  uint32_t *level, *place /* on the trail */, *reason /* an offset, or NO_CLAUSE */, *unit /* level 0: its clause's number */;
  uint32_t *trail;        /* literals that are true, in the order in which they became so */
  size_t n_trail, propagated;
  size_t *begin, n_levels; /* where the levels from 1 begin on the trail */
  uint32_t *arena;
  size_t used, capacity;
  clarke_watches *watches; /* by literal */
  size_t n_learned, most_learned;
  double *activity, step;  /* of variables: how often in conflicts, of late; it only orders them */
  uint32_t *heap, *heap_place, n_heap;
  /* For learning: */
  bool *seen;
  uint32_t *learned, n_learned_literals; /* a clause in the making */
  uint32_t *resolved, n_resolved;        /* variables whose reasons it rests on */
  uint32_t *fixed, n_fixed;              /* and those of level 0 */
  uint32_t *joined;                      /* by level: the conflict that counted it */
  size_t conflicts, work; /* visits of clauses, and hints of steps */
  clarke_sat_refutation *steps;
  bool failed; /* out of memory: nothing that follows counts */
} clarke_solver;

/* --- solver_state.c */

/* For n variables; steps become those of *steps. False when out of memory. Cleared in either case. */
bool clarke_solver_init(clarke_solver *s, size_t n, clarke_sat_refutation *steps);
void clarke_solver_clear(clarke_solver *s);
/* Adds the formula's clauses. Is it contradictory already? Then the empty clause is a step. */
bool clarke_solver_load(clarke_solver *s, const clarke_three *f);

/* --- solver_propagate.c */

/* Adds a clause of two literals or more; watches the first two. Its offset. */
uint32_t clarke_solver_add(clarke_solver *s, const uint32_t *literal, size_t n, uint32_t number, uint32_t glue);
/* The literal becomes true at the present level. On level 0 its unit clause becomes a step, unless it has one (unit != 0). */
void clarke_solver_assign(clarke_solver *s, uint32_t literal, uint32_t reason, uint32_t unit);
/* The clause is propagated no more. It stays in the arena; literals that it gave on level 0 stay, too. */
void clarke_solver_drop(clarke_solver *s, uint32_t clause);
/* All that follows. The offset of a clause that is false, or NO_CLAUSE. */
uint32_t clarke_solver_propagate(clarke_solver *s);
/* Back to that level. */
void clarke_solver_back(clarke_solver *s, size_t level);
/* On level 0, with all propagated: drops the half of the learned clauses that joined the most levels. */
void clarke_solver_reduce(clarke_solver *s);

/* --- solver_order.c */

void clarke_order_put(clarke_solver *s, uint32_t variable); /* open again */
uint32_t clarke_order_take(clarke_solver *s);               /* the open one of the largest activity, or NO_CLAUSE */
void clarke_order_bump(clarke_solver *s, uint32_t variable); /* its activity grows */

/* --- solver_learn.c */

/* From a clause that is false: the clause to learn, as a step and in the arena, and what it says on the level it goes back
 * to. On level 0 the empty clause becomes a step, and false is returned. */
bool clarke_solver_learn(clarke_solver *s, uint32_t conflict);
/* From a clause that is false, with one level of decisions: the clause of those that it rests on, negated, is in
 * learned. The number of its step, or 0 when out of memory. */
uint32_t clarke_solver_conclude(clarke_solver *s, uint32_t conflict);
/* A literal as DIMACS has it. */
int32_t clarke_solver_literal(uint32_t literal);

#endif
