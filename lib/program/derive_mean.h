/* AD's output as the mean of two gradients. */
#ifndef CLARKE_PROGRAM_DERIVE_MEAN_H
#define CLARKE_PROGRAM_DERIVE_MEAN_H

#include "program/derive.h"

/* A direction v for which AD's output is the mean of the limits of gradients along v and against it: at every touched kink, tie of two
 * and norm of zeros AD takes the mean of both sides, v decides each at first order, and no touched instruction is made of another. Then
 * nothing has to be rational. v goes to d->opposite, wrt_count rationals, which stay NULL where there is none. */
clarke_status clarke_derive_mean(clarke_derivation *d, clarke_error *err);

#endif
