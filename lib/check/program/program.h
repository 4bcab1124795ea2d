/* Programs: what is made of their text. */
#ifndef CLARKE_KERNEL_PROGRAM_H
#define CLARKE_KERNEL_PROGRAM_H

#include "check/base/bytes.h"
#include "check/program/instruction.h"

void program_read(program *p, bytes text); /* what is no program is refused */
/* of what has that sign, and 0; relation: "<", ">=" and the like */
bool relation_holds(const char *relation, int sign);

#endif
