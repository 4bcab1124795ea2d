/* Rules that ask about a tensor as a whole, and not about its entries one by one: Adafactor, by means over rows and columns, and Muon, by products
 * of matrices. */
#ifndef CLARKE_STEP_WHOLE_H
#define CLARKE_STEP_WHOLE_H

#include "step/rule.h"

/* A tensor's axes, as such rules see them: the last two, for each of all others. rows 0: it has none, or one. */
typedef struct {
  size_t n, rank, batches, rows, cols;
} clarke_step_shape;

/* A tensor, with the state beside it. A slot that it has not is NULL. */
typedef struct clarke_step_whole {
  clarke_step_shape shape;
  clarke_number *theta, *slot[CLARKE_N_SLOTS];
} clarke_step_whole;

#define CLARKE_N_WHOLE_RULES 2
extern const clarke_rule clarke_whole_rules[CLARKE_N_WHOLE_RULES];

/* The shape of a tensor with these axes. */
clarke_step_shape clarke_step_shape_of(const size_t *dims, size_t rank);
/* Has a tensor of that shape such a slot, by the rule? By Adafactor's v a vector, row and col others. */
bool clarke_shape_has(const clarke_step_shape *s, const clarke_rule *r, int slot);
/* How many numbers a slot has (-1: theta): of row one for each row of a matrix, of col one for each column. */
size_t clarke_shape_count(const clarke_step_shape *s, int slot);
/* An error where the rule does not step such tensors. */
clarke_status clarke_shape_check(const clarke_step_shape *s, const clarke_rule *r, clarke_error *err);

/* Initialized numbers, all 0, of theta and the slots that the rule has. */
clarke_status clarke_whole_init(clarke_step_whole *w, const clarke_step_shape *s, const clarke_rule *r, clarke_error *err);
void clarke_whole_clear(clarke_step_whole *w);
/* Step number k, from 0 on. */
clarke_status clarke_whole_step(clarke_step_whole *w, const clarke_rule *r, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err);

/* The factor of Muon's step size for a matrix: the root of max(1, rows / columns), or of max(rows, columns) / 25. */
void clarke_muon_adjusts(clarke_number *factor, const clarke_step_shape *s, const clarke_hypers *h);

#endif
