/* Is a program locally Lipschitz near the point? */
#ifndef CLARKE_KERNEL_PROGRAM_LIPSCHITZ_H
#define CLARKE_KERNEL_PROGRAM_LIPSCHITZ_H

#include "check/program/program.h"

/* All values are well inside the domains of what is applied to them, but for roots of 0: fails if such a root's argument may vary, or
 * a branch may yet jump. */
void check_lipschitz(const program *p, const near_value *values);

#endif
