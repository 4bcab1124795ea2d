/* A block by simplex pivots in integers. Private to lib/exact. */
#ifndef CLARKE_EXACT_CONE_PIVOT_H
#define CLARKE_EXACT_CONE_PIVOT_H

#include "exact/cone.h"

/* Decides by simplex pivots in integers, given work enough: the way out when floats cannot see the
 * margin. CLARKE_CONE_UNKNOWN when the work, or the room for the tableau, is used up. */
clarke_status clarke_cone_pivot(clarke_cone_answer *answer, fmpz_mat_t d, fmpz_mat_t u, const fmpz_mat_t b,
                                uint64_t work, clarke_error *err);

#endif
