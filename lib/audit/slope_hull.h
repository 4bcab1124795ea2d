/* AD's gradient as a mean of cells' gradients, told by slopes alone. */
#ifndef CLARKE_AUDIT_SLOPE_HULL_H
#define CLARKE_AUDIT_SLOPE_HULL_H

#include "audit/membership.h"

/* Are there weights with which the n cells' slopes have AD's for their mean, at every touch? Where none of those with other slopes than
 * AD's is behind another, the gradient is affine in these slopes, so AD's is the same mean of the cells' gradients, whatever loss
 * and functions there are (docs/proof-format.md). Touches without effect, where that is known (effect.h), may have any slopes.
 * INSIDE, with weights, or UNKNOWN. */
clarke_status clarke_slope_hull_find(clarke_membership *m, const clarke_question *q, const clarke_cell *cell, size_t n,
                                     const bool *effect, clarke_error *err);

/* split, by touch: has a cell other slopes there than AD? *behind: may one of these touches be behind another? Both say nothing unless
 * *known: are AD's slopes means of the sides'? effect: as above. */
clarke_status clarke_slopes_split(bool *split, bool *behind, bool *known, const clarke_question *q, const clarke_cell *cell, size_t n,
                                  const bool *effect, clarke_error *err);

/* Is AD's gradient the mean of those on either side, along some line through w? So it is where |x| is at 0, and where a maximum of two
 * takes half of each. INSIDE: cell[0] and cell[1], initialized before, are realized. */
clarke_status clarke_slope_hull_of_opposites(clarke_membership *m, clarke_cell *cell, const clarke_question *q,
                                             clarke_error *err);

#endif
