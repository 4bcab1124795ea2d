/* Is a program locally Lipschitz near the point? */
#ifndef CLARKE_KERNEL_PROGRAM_LIPSCHITZ_H
#define CLARKE_KERNEL_PROGRAM_LIPSCHITZ_H

#include "check/program/program.h"

/* What is known of an instruction that may be executed near the point: its value there (NULL: it is not executed), and
 * whether it is constant near it. A branch has the arm that is taken near the point: 1 then, -1 else, or BOTH_ARMS;
 * POINTWISE the piece that it is on there, ORDER the instruction that it is, or NONE. */
typedef struct {
  const interval *value;
  bool constant;
  int8_t arm;
  size_t part;
} near_value;
/* All values are well inside the domains of what is applied to them, but for roots of 0: fails if such a root's argument may vary, or
 * a branch may yet jump. */
void check_lipschitz(const program *p, const near_value *values);

#endif
