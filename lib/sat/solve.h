/* Can a formula be satisfied? Conflict-driven clause learning (Marques-Silva and Sakallah; Chaff's two watched literals;
 * MiniSat's order of variables and restarts by Luby's sequence). It is not trusted: its answer is an assignment or a
 * refutation, which others check. */
#ifndef CLARKE_SAT_SOLVE_H
#define CLARKE_SAT_SOLVE_H

#include "sat/refutation.h"
#include "sat/three.h"

typedef enum { CLARKE_FORMULA_SATISFIED, CLARKE_FORMULA_REFUTED, CLARKE_FORMULA_GIVEN_UP } clarke_formula_answer;

typedef struct {
  clarke_formula_answer answer;
  const char *stopped;          /* GIVEN_UP, for the work was told to stop (base/stop.h): why; NULL else */
  size_t conflicts, work;
  bool *value;                  /* SATISFIED: by variable, from 0 */
  clarke_sat_refutation refutation; /* REFUTED; its given clauses are the formula's, in order */
} clarke_solution;

void clarke_solution_init(clarke_solution *s);
void clarke_solution_clear(clarke_solution *s);

/* Gives up when clauses were visited `work` times, give or take a conflict, or when the work is told to stop. s must be
 * initialized. The same formula has the same answer, assignment and refutation. */
clarke_status clarke_solve(clarke_solution *s, const clarke_three *f, size_t work, clarke_error *err);

#endif
