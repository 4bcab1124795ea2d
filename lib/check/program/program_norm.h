/* A Euclidean norm, followed: where it is smooth, and at a vector of zeros. */
#ifndef CLARKE_KERNEL_PROGRAM_NORM_H
#define CLARKE_KERNEL_PROGRAM_NORM_H

#include "check/program/program_walk.h"

/* Series, gradient, degree and same of an instruction A_NORM whose arguments are done; top: their largest degree. Is it
 * touched, that is, at a vector of zeros? */
bool follow_norm(walk *w, size_t at, uint8_t top);
extern const smooth_functions all_smooth_functions; /* that, and what has a series */

#endif
