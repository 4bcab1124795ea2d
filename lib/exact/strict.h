/* Strict homogeneous systems, decided for all but hard ones: exact/cone.h's answer, and where its float guesses
 * verify nothing, that of the element of least norm of the rows' hull (0 is in it, or it is a
 * solution itself). */
#ifndef CLARKE_EXACT_STRICT_H
#define CLARKE_EXACT_STRICT_H

#include "exact/wolfe.h"

#include "exact/cone.h"

/* As clarke_cone_solve. CLARKE_CONE_UNKNOWN only when Wolfe's algorithm ran out of steps. */
clarke_status clarke_strict_solve(clarke_cone *cone, const fmpz_mat_t a, clarke_error *err);

/* That second way, by itself. */
clarke_status clarke_strict_by_norm(clarke_cone *cone, const fmpz_mat_t a, clarke_error *err);

#endif
