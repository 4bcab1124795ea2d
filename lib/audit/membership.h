/* Where AD's output lies relative to gradients of cells. */
#ifndef CLARKE_AUDIT_MEMBERSHIP_H
#define CLARKE_AUDIT_MEMBERSHIP_H

#include "exact/hull.h"
#include "audit/system.h"

/* The gradient of the loss in all wrt parameters, by the samples that touch kinks (the others
 * contribute the same to AD and to every cell), with these sides (CLARKE_PROXY: the profile's
 * proxy; NULL: of all): gradient[p], count x 1, no rows for zero. */
clarke_status clarke_partial_gradient(clarke_matrix *gradient, const clarke_question *q,
                                      const clarke_branch *side, clarke_error *err);

/* a -= b, parameter by parameter; missing ones are zero. */
clarke_status clarke_gradients_subtract(clarke_matrix *a, const clarke_matrix *b, const clarke_graph *g, clarke_error *err);

/* Where AD's output lies relative to the gradients under n lists of sides. */
typedef struct {
  clarke_hull_place place;
  bool exact;    /* the gradients that were compared are rational: else place is never INSIDE */
  mpq_t *weight; /* INSIDE: n weights, nonnegative, summing to 1 */
  clarke_row v;  /* OUTSIDE: <v, AD> > <v, gradient i> for every i */
} clarke_membership;

void clarke_membership_init(clarke_membership *m);
void clarke_membership_clear(clarke_membership *m, size_t n);
/* As its place says; n: gradients, when INSIDE. */
bool clarke_membership_is_valid(const clarke_membership *m, size_t n);
clarke_status clarke_membership_find(clarke_membership *m, const clarke_question *q,
                                     clarke_branch *const *side, size_t n, clarke_error *err);

#endif
