/* AD where a derivative on its way is not finite: infinities and NaN by the rules of IEEE 754, the rest exactly. */
#ifndef CLARKE_PROGRAM_UNBOUNDED_H
#define CLARKE_PROGRAM_UNBOUNDED_H

#include "program/execute.h"

typedef enum { CLARKE_FINITE, CLARKE_INFINITY, CLARKE_MINUS_INFINITY, CLARKE_NAN } clarke_magnitude;
const char *clarke_magnitude_name(clarke_magnitude m); /* "inf", "-inf", "nan" */

/* Is a partial derivative of this live instruction not finite: of a root at 0 plus infinity, of a norm of zeros NaN where the
 * profile says so? */
bool clarke_is_unbounded(const clarke_execution *e, size_t i, const clarke_profile *profile);

/* AD in reverse mode as clarke_execution_ad, which refuses what is not finite. magnitude and gradient: n_outputs x
 * wrt_count, row-major; a number counts where its magnitude is FINITE. *at: the first instruction on the way whose derivative
 * is not finite, or CLARKE_NONE. An adjoint that is exactly zero goes no further. What PyTorch masks drops any adjoint: flat
 * pieces of Relu, Clip, Clamp, HardSigmoid and HardSwish, entries that a sort or a pool did not take. Else 0 times infinity
 * is NaN. */
clarke_status clarke_execution_unbounded(clarke_magnitude *magnitude, clarke_number *gradient, size_t *at,
                                         const clarke_execution *e, const clarke_profile *profile,
                                         clarke_error *err);

#endif
