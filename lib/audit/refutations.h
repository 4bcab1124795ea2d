/* Gordan vectors met while a block's trees were searched. Their rows are those of classes whose arguments are affine, so a
 * vector refutes every later path that takes the same options of the same classes (its circuit), and no system need
 * be solved there. */
#ifndef CLARKE_AUDIT_REFUTATIONS_H
#define CLARKE_AUDIT_REFUTATIONS_H

#include "audit/classes.h"
#include "audit/enumerate.h"

#define CLARKE_UNCHOSEN ((size_t)-1) /* of a class: no option chosen */

typedef struct {
  size_t *class, *option; /* by multiplier */
  clarke_gordan gordan;
} clarke_refutation;

typedef struct {
  size_t n, capacity;
  clarke_refutation *circuit;
} clarke_refutations;

void clarke_refutations_init(clarke_refutations *s);
void clarke_refutations_clear(clarke_refutations *s);

/* Keeps the vector; the options chosen, by class, are those of its path. */
clarke_status clarke_refutations_keep(clarke_refutations *s, const clarke_gordan *dead, const clarke_classes *c,
                                   const size_t *chosen, clarke_error *err);

/* Adds a DEAD node when some vector refutes the options chosen. */
clarke_status clarke_refutations_refute(bool *refuted, clarke_tree *tree, const clarke_refutations *s, const size_t *chosen,
                                     clarke_error *err);

#endif
