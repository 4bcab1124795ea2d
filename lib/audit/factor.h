/* Arguments that are affine but for a factor (docs/proof-format.md, "Factors"). */
#ifndef CLARKE_AUDIT_FACTOR_H
#define CLARKE_AUDIT_FACTOR_H

#include "audit/degree.h"

/* Is the argument of touch k, or of a window the option of `side` less that of `condition`, near w within the marking's cell
 * an affine function times one that is continuous and not zero at w? Not known of large graphs. */
clarke_status clarke_affine_but_for_a_factor(bool *is, const clarke_marking *m, size_t k, clarke_branch side, size_t condition,
                                             clarke_error *err);

#endif
