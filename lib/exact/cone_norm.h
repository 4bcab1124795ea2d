/* A block by an element of least norm. Private to lib/exact. */
#ifndef CLARKE_EXACT_CONE_NORM_H
#define CLARKE_EXACT_CONE_NORM_H

#include "exact/cone.h"

/* Decides by the element of least norm (wolfe.h), given work enough: the way out when floats cannot see the margin. */
clarke_status clarke_cone_norm(clarke_cone_answer *answer, fmpz_mat_t d, fmpz_mat_t u, const fmpz_mat_t b,
                               uint64_t work, clarke_error *err);

#endif
