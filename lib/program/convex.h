/* Is a program convex? Then its Clarke subdifferential is the convex one (Clarke, Optimization and Nonsmooth Analysis, Proposition 2.2.7). */
#ifndef CLARKE_PROGRAM_CONVEX_H
#define CLARKE_PROGRAM_CONVEX_H

#include "program/execute.h"

/* *convex: output number `output` is, in all entries of wrt together, everywhere, the other inputs being as at the point. That is proved by
 * rules of composition, instruction by instruction:
 *   - sums of convex functions, and of concave ones taken negatively; maxima; squares and norms of what is affine, or convex and nowhere below 0;
 *   - a convex function that does not fall, of a convex one; that does not rise, of a concave one; where the argument can be;
 *   - exp, and log of sums and products of exponentials of convex functions.
 * False: these do not show it. The execution is not open; a branch counts where what it compares does not vary. */
clarke_status clarke_convex_find(bool *convex, const clarke_execution *e, size_t output, clarke_error *err);

/* g (as many as wrt has) with <g, line[k]> = value[k] for the n directions. False: n is not that many, they are dependent, or a value is not
 * rational. */
bool clarke_gradient_along(mpq_t *g, mpq_t *const *line, const clarke_number *value, size_t n, size_t width);

#endif
