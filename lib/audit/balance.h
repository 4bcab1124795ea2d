/* AD's gradient as a mean of cells' gradients whose weights are irrational. */
#ifndef CLARKE_AUDIT_BALANCE_H
#define CLARKE_AUDIT_BALANCE_H

#include "audit/cell.h"
#include "audit/question.h"

/* Touches in groups, whose cells are chosen apart from one another's. */
typedef struct {
  size_t n, *cells; /* by group: how many */
  size_t *group_of; /* by touch: 1 + its group; 0: no cell has other slopes there than AD */
} clarke_balance;

void clarke_balance_init(clarke_balance *b);
void clarke_balance_clear(clarke_balance *b);

/* Are there, in each group, weights above 0 with which the changes that some cells make in AD's gradient cancel? The changes of a group
 * lie in the span of rational rows (docs/proof-format.md, "Balance"). chosen (room for n): those of the n cells, all realized, which have
 * one choice each of the groups', the last group's running fastest. *n_chosen is 0 where none are found. effect: by touch (effect.h). */
clarke_status clarke_balance_find(clarke_balance *b, size_t *chosen, size_t *n_chosen, const clarke_question *q,
                                  const clarke_cell *cell, size_t n, const bool *effect, clarke_error *err);

#endif
