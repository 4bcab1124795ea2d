/* Is a program locally Lipschitz near the point? */
#ifndef CLARKE_KERNEL_PROGRAM_LIPSCHITZ_H
#define CLARKE_KERNEL_PROGRAM_LIPSCHITZ_H

#include "check/program/program.h"

/* Of an instruction that may be executed near the point: its value there; of a branch, the arm that is taken near the
 * point: 1 then, -1 else, or BOTH_ARMS. value: NULL, it is not executed. */
typedef struct {
  const interval *value;
  int8_t arm;
} near_value;
/* All values are well inside the domains of what is applied to them: fails if a branch may yet jump. */
void check_lipschitz(const program *p, const near_value *values);

#endif
