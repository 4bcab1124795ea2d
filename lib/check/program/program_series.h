/* The elementary functions of power series. */
#ifndef CLARKE_KERNEL_PROGRAM_SERIES_H
#define CLARKE_KERNEL_PROGRAM_SERIES_H

#include "check/base/value.h"

/* y = f(u), n terms; w = f'(u), or NULL where u is constant. */
void series_analytic(interval *y, interval *w, const char *f, const interval *u, size_t n);

#endif
