/* Programs of which some inputs are held fixed (docs/proof-format.md, "Regions", "What varies"). */
#ifndef CLARKE_KERNEL_HOLD_H
#define CLARKE_KERNEL_HOLD_H

#include "check/program/program.h"

/* An input without a place among what varies (entry NONE) becomes the constant c[0]; and each instruction of constants the
 * constant that it is, where that is one of the rationals which the rules say. Other instructions stay as they are. */
void hold_constants(program *p);

#endif
