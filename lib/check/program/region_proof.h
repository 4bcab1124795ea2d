/* Proofs about the regions of piecewise linear functions. */
#ifndef CLARKE_KERNEL_REGION_PROOF_H
#define CLARKE_KERNEL_REGION_PROOF_H

#include "check/program/program.h"

/* Checks the regions of a program, as region_function_read takes it: reads the lines behind its file, and writes the
 * statement. A box is a file in that folder. */
void check_regions(program *of, bool parameters, const char *folder);

#endif
