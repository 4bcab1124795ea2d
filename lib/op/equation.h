/* The equation of an Einsum node: what its operands' axes are called, and those of its result. */
#ifndef CLARKE_OP_EQUATION_H
#define CLARKE_OP_EQUATION_H

#include "op/axes.h"

/* a to z, A to Z, and the axes that "..." stands for, from the left. */
#define CLARKE_N_LABELS (52 + CLARKE_MAX_WHOLE)

/* Axis a of operand i has label[i][a]; [2] is the result. A label stands for one axis of the sum: for all axes that have it. */
typedef struct {
  size_t n; /* operands, 1 or 2 */
  size_t rank[3];
  unsigned char label[3][CLARKE_MAX_WHOLE];
} clarke_equation;

/* Reads the equation of operands of these ranks, at most CLARKE_MAX_WHOLE. NULL, or what is wrong with it. A result without
 * "->" has the labels that stand once, in the order of the alphabet, behind the axes of "...": capitals are refused there,
 * whose order is not one in all readers. */
const char *clarke_equation_read(clarke_equation *e, const char *text, size_t n, const size_t *ranks);

#endif
