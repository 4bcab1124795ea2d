/* A simplex of cells around AD's output, in the touches of one block whose arguments are affine whatever the sides.
 *
 * Replacing AD's slopes by a cell's changes AD's gradient by a sum of multiples of the touches' rows, which span a space of
 * some dimension d, known exactly. The multiples may be real numbers, known by enclosures. Where d + 1 cells' changes, by d
 * pivots of the span, have weights that make them cancel, enclosed, unique and positive, they cancel in all entries: AD's
 * output lies in the hull of the cells (docs/proof-format.md, "Simplices"). */
#ifndef CLARKE_AUDIT_SIMPLEX_H
#define CLARKE_AUDIT_SIMPLEX_H

#include "audit/sample.h"

typedef struct {
  size_t n_touches, *touch;    /* increasing */
  size_t n;                    /* d + 1 */
  clarke_direction *direction; /* by cell: moves every touch of the block to its side there */
} clarke_simplex;

void clarke_simplex_init(clarke_simplex *x);
void clarke_simplex_clear(clarke_simplex *x);

/* Touches in order, valid directions. */
bool clarke_simplex_is_valid(const clarke_simplex *x, const clarke_question *q);

/* Proves that AD's output is in such a simplex, of cells in s, all touches of the block being in its classes. Cells that
 * do not occur leave s. Not *found: nothing is known. */
clarke_status clarke_simplex_find(bool *found, clarke_simplex *x, clarke_sample *s,
                                  const clarke_question *q, clarke_error *err);

#endif
