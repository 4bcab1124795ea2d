/* Gordan vectors met while a block's trees were searched. Their rows are those of classes whose arguments are affine, so a
 * vector refutes every later path that takes the same options of the same classes (its circuit), and no system need
 * be solved there. */
#ifndef CLARKE_AUDIT_CIRCUITS_H
#define CLARKE_AUDIT_CIRCUITS_H

#include "audit/classes.h"
#include "audit/enumerate.h"

#define CLARKE_UNCHOSEN ((size_t)-1) /* of a class: no option chosen */

typedef struct {
  size_t n, *class, *option;     /* by multiplier */
  clarke_multiplier *multiplier; /* in the order of touch, then condition */
} clarke_circuit;

typedef struct {
  size_t n, capacity;
  clarke_circuit *circuit;
} clarke_circuits;

void clarke_circuits_init(clarke_circuits *s);
void clarke_circuits_clear(clarke_circuits *s);

/* Keeps the vector of a DEAD node; the options chosen, by class, are those of its path. */
clarke_status clarke_circuits_keep(clarke_circuits *s, const clarke_node *dead, const clarke_classes *c,
                                   const size_t *chosen, clarke_error *err);

/* Adds a DEAD node when some vector refutes the options chosen. */
clarke_status clarke_circuits_refute(bool *refuted, clarke_tree *tree, const clarke_circuits *s, const size_t *chosen,
                                     clarke_error *err);

#endif
