/* Cones around the point (docs/proof-format.md, "Programs"): evidence about programs that are piecewise linear in what varies. */
#ifndef CLARKE_KERNEL_PROGRAM_CONES_H
#define CLARKE_KERNEL_PROGRAM_CONES_H

#include "check/program/program.h"

/* The lines behind `cones`, a tree around the point ("Regions"); what does not vary in the n inputs becomes numbers. Each leaf's
 * gradient, row by row, is given to `each`, with `of`. How many leaves? */
size_t check_cones(program *p, size_t n, void (*each)(void *of, const rational *gradient), void *of);

#endif
