/* A refutation of a formula: clauses each of which follows from those before it by unit propagation, with the clauses that
 * propagate (LRAT without its RAT steps: Cruz-Filipe, Heule, Hunt, Kaufmann, Schneider-Kamp, CADE 2017).
 *
 * A step is a clause C and hints h_1, ..., h_m, numbers of clauses. Let all literals of C be false. Then each hint but the
 * last has one literal that is not false, which becomes true; of the last all are false. So C follows. Clauses of the formula
 * have the numbers 1, 2, ..., n_given; steps go on from there. The last step of a refutation is the empty clause. */
#ifndef CLARKE_SAT_REFUTATION_H
#define CLARKE_SAT_REFUTATION_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  size_t n_given, n;
  /* Step k: literals literal[first_literal[k]] .. literal[first_literal[k + 1] - 1], hints likewise. */
  size_t *first_literal, *first_hint;
  int32_t *literal;
  uint32_t *hint;
  size_t capacity, n_literals, literal_capacity, n_hints, hint_capacity; /* private */
} clarke_sat_refutation;

/* Parts end to end, in order; hints of a step name clauses before it; the last step, and no other, is the empty clause. */
bool clarke_refutation_is_valid(const clarke_sat_refutation *r);

void clarke_refutation_init(clarke_sat_refutation *r);
void clarke_refutation_clear(clarke_sat_refutation *r);

/* Appends to the step at hand. False when out of memory. */
bool clarke_refutation_literal(clarke_sat_refutation *r, int32_t literal);
bool clarke_refutation_hint(clarke_sat_refutation *r, size_t number);
/* Ends that step. Its number, or 0 when out of memory or past 2^32 - 1. */
uint32_t clarke_refutation_end(clarke_sat_refutation *r);

/* Leaves out every step that the last one does not rest on, and numbers the others anew. */
clarke_status clarke_refutation_trim(clarke_sat_refutation *r, clarke_error *err);

#endif
